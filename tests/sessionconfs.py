"""Session confs that joins, group-bys and group functions are all tried with."""

SQL = "spark.sql."
SHARED = {
    "retainGroupColumns": "false",
    "caseSensitive": "true",
    "ansi.enabled": "false",
    "ansi.doubleQuotedIdentifiers": "true",
    "ansi.enforceReservedKeywords": "true",
    "session.timeZone": "America/New_York",
    "timestampType": "TIMESTAMP_NTZ",
}
"""Conf without its prefix -> a value that is not the default."""
