"""`skew_window`: window functions."""
