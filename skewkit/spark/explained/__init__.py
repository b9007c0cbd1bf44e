"""What EXPLAIN says of a frame, without a job."""
