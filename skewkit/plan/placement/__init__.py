"""Which partitions every hot key and every tail bucket goes to."""
