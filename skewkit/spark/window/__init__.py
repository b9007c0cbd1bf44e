"""Windows over a plan."""
