"""What is known of a frame's keys: hot keys with bounds, the tail in hash buckets, nulls and totals."""
