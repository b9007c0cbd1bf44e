"""What a write asks of Spark: rows per partition value with a sample of rows, and the route of a file plan."""
