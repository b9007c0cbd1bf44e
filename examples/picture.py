"""Draw the picture of the README: rows per partition of one join, under plain Spark and under skewkit.

python examples/picture.py [FILE]        # needs matplotlib: pip install 'skewkit[plot]'
"""

import sys

import matplotlib as mpl
import retail

import skewkit
from skewkit.testing import local_session, partition_rows

PARTITIONS = 32


def main(file: str) -> None:
    """Join order lines to customers, count rows per partition, and draw both ways."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    confs = {"spark.sql.shuffle.partitions": str(PARTITIONS), "spark.sql.autoBroadcastJoinThreshold": "-1"}
    spark = local_session(confs=confs)
    tables, origin = retail.read(spark)
    lines, customers = tables["lines"], tables["customers"].drop("Country")
    spread = skewkit.skew_join(lines, customers, "CustomerID", "left", strategy="salt")
    panels = {
        "plain Spark": partition_rows(lines.repartition(PARTITIONS, "CustomerID")),
        "skewkit": partition_rows(spread),
    }
    spark.stop()
    mean = sum(panels["skewkit"]) / PARTITIONS

    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.9), sharey=True, layout="constrained")
    for ax, (who, rows) in zip(axes, panels.items(), strict=True):
        rows = sorted(rows, reverse=True) + [0] * (PARTITIONS - len(rows))
        ax.bar(range(PARTITIONS), rows, color=["#c8442d" if count > 1.5 * mean else "#3a6ea5" for count in rows])
        ax.axhline(mean, color="#444444", linewidth=1, linestyle="--")
        ax.set_title(f"{who}: longest task {max(rows) / mean:.2f} times the mean", loc="left")
        ax.set_xlabel("partition, the fullest first")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes[0].set_ylabel("rows")
    axes[1].annotate("mean", (PARTITIONS - 1, mean), xytext=(0, 4), textcoords="offset points", ha="right")
    figure.savefig(file, dpi=130)
    print(f"{file}: {origin}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/partitions.png")
