"""Group-bys over a plan."""
