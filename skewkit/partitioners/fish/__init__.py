"""FISH and its parts."""
