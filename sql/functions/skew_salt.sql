-- A salt in 0..choices-1 that follows from the row, so that a task that runs again gives it again.
-- Example: skew_salt(xxhash64(order_id, line), 8)
CREATE OR REPLACE TEMPORARY FUNCTION skew_salt(
  row_hash BIGINT COMMENT 'xxhash64 of the columns that tell rows apart',
  choices INT COMMENT 'number of salts, 1 or more'
)
RETURNS INT
COMMENT 'A salt in 0..choices-1, the same for the same row.'
RETURN CAST(pmod(row_hash, CAST(choices AS BIGINT)) AS INT)
