"""SQL: the SKEW hint on any query, and functions that SQL users can call."""
