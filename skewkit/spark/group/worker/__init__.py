"""What runs inside Spark's Python workers for group functions."""
