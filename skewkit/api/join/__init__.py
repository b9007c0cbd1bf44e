"""`skew_join`: joins."""
