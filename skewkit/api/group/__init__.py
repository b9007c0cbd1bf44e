"""`skew_groupby`: aggregates and Python group functions."""
