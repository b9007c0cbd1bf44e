"""POSG and its parts."""
