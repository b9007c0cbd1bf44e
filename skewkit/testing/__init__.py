"""For tests, notebooks and examples: same rows, rows per partition, a quiet local session."""

from skewkit.testing.rows import assert_same_rows, partition_rows
from skewkit.testing.session import local_session

__all__ = ["assert_same_rows", "local_session", "partition_rows"]
