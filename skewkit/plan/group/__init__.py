"""What a group-by costs."""
