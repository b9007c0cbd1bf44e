"""Sessions: versions, classic and Connect, memory, and what is remembered of frames."""
