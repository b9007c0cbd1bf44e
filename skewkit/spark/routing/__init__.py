"""A plan as Columns: hash, salt and partition of a row."""
