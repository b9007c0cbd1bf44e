"""Consistent Grouping and its parts."""
