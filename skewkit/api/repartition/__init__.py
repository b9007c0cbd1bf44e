"""Repartitioning of a frame."""
