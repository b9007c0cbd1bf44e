"""Turns plans into Columns and frames; decides nothing. PySpark is imported from here on."""
