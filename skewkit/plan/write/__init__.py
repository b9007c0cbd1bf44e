"""Which task writes which files: sizes of partition values, bytes per row in Parquet, the plan."""
