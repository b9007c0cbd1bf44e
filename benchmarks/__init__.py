"""Benchmarks: skewkit against plain Spark in one run, as wall time, CPU seconds and makespan over tasks."""
