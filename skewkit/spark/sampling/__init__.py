"""The key sample and the profile of a frame: one query."""
