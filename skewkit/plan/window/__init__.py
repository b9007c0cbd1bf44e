"""The plan of a window: frames, cuts of hot partitions, and how functions are put together from blocks."""
