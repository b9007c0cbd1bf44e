"""What several schemes share: their frames as base classes."""
