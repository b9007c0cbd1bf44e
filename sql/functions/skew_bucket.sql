-- The hash bucket of a key that is not heavy, as in KeyProfile.tail.
-- Example: skew_bucket(xxhash64(customer_id), 1024)
CREATE OR REPLACE TEMPORARY FUNCTION skew_bucket(
  key_hash BIGINT COMMENT 'xxhash64 of the key columns',
  buckets INT COMMENT 'number of buckets, 1 or more'
)
RETURNS INT
COMMENT 'The bucket in 0..buckets-1 of a key.'
RETURN CAST(pmod(key_hash, CAST(buckets AS BIGINT)) AS INT)
