"""Hashing: seeded 64-bit hashes of keys, the same for one key and for many.

`skewkit.hashing.spark` holds the hashes that agree with Spark's own and is imported by its full name.
"""

from skewkit.hashing.key_hash import hash_key, hash_keys

__all__ = ["hash_key", "hash_keys"]
