"""Plans as data: what is known of the keys (a profile), and what follows from it for a number of partitions.

Nothing here needs Spark: a plan can be made, printed, compared, saved and tested without a JVM.
"""
