"""Retail order lines, customers and products: real data where it is at hand, else made-up data of the same shape.

The real data is UCI Online Retail (CC BY 4.0), 541,909 lines of a British web shop: 91 % of them from the United
Kingdom, 25 % without a customer. Set SKEWKIT_DATA to a folder with `retail_lines.parquet`,
`retail_dim_customer.parquet` and `retail_dim_stock.parquet`, SKEWKIT_DEMO_ROWS to a number of lines.
"""

import os
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

TABLES = {"lines": "retail_lines", "customers": "retail_dim_customer", "stock": "retail_dim_stock"}
DEFAULT_FOLDER = Path(__file__).parents[2] / "shared" / "data"


def read(spark: SparkSession, rows: int | None = None) -> tuple[dict[str, DataFrame], str]:
    """Return the three tables and a sentence that says where they come from."""
    folder = Path(os.environ.get("SKEWKIT_DATA", DEFAULT_FOLDER))
    rows = rows or int(os.environ.get("SKEWKIT_DEMO_ROWS", "0"))
    if (folder / "retail_lines.parquet").is_file():
        tables = {name: spark.read.parquet(str(folder / f"{file}.parquet")) for name, file in TABLES.items()}
        if not rows:
            return tables, "UCI Online Retail, real order lines (CC BY 4.0)"
        first = tables | {"lines": tables["lines"].limit(rows)}
        return first, f"UCI Online Retail, the first {rows:,} of the real order lines (CC BY 4.0)"
    rows = rows or 200_000
    return made_up(spark, rows), f"made-up data of the same shape ({rows:,} lines), as the real files are not here"


def made_up(spark: SparkSession, rows: int) -> dict[str, DataFrame]:
    """Return tables like the real ones: one country with 91 % of the lines, 25 % of them without a customer."""
    draw = [F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(1_000_000)) / 1_000_000 for seed in range(4)]
    zipf = [F.floor(F.pow(F.lit(top), d)).cast("int") for top, d in ((4000, draw[1]), (3900, draw[2]))]
    country = F.when(draw[0] < 0.914, "United Kingdom").when(draw[0] < 0.932, "Germany").when(draw[0] < 0.948, "France")
    lines = spark.range(rows).select(
        (F.lit(536365) + F.floor(F.col("id") / 21)).cast("string").alias("InvoiceNo"),
        F.concat(F.lit("S"), zipf[1].cast("string")).alias("StockCode"),
        F.concat(F.lit("PRODUCT "), zipf[1].cast("string")).alias("Description"),
        (1 + F.floor(draw[3] * 12)).cast("int").alias("Quantity"),
        F.timestamp_seconds(1291190400 + F.col("id") * 60).cast("timestamp_ntz").alias("InvoiceDate"),
        (F.floor(draw[3] * 2000) / 100).alias("UnitPrice"),
        F.when(draw[3] >= 0.249, F.concat(F.lit("C"), zipf[0].cast("string"))).alias("CustomerID"),
        country.otherwise(F.concat(F.lit("Country "), F.floor(draw[1] * 35).cast("string"))).alias("Country"),
    )
    first_seen = F.lit("2010-12-01").cast("timestamp_ntz").alias("first_seen")
    customers = spark.range(1, 4001).select(
        F.concat(F.lit("C"), F.col("id").cast("string")).alias("CustomerID"), F.lit("UK").alias("Country"), first_seen
    )
    stock = spark.range(1, 3901).select(
        F.concat(F.lit("S"), F.col("id").cast("string")).alias("StockCode"),
        F.concat(F.lit("PRODUCT "), F.col("id").cast("string")).alias("Description"),
    )
    return {"lines": lines, "customers": customers, "stock": stock}
