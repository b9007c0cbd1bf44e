"""Joins over a plan."""
