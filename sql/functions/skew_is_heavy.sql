-- Whether a plan treats a key as heavy. The same as KeyPlan.heavy_index(key_hash) being 0 or more.
-- Example: skew_is_heavy('<KeyPlan.to_json()>', xxhash64(customer_id))
CREATE OR REPLACE TEMPORARY FUNCTION skew_is_heavy(
  plan STRING COMMENT 'a plan as JSON, KeyPlan.to_json()',
  key_hash BIGINT COMMENT 'xxhash64 of the key columns'
)
RETURNS BOOLEAN
COMMENT 'Whether a key is heavy in a plan.'
RETURN exists(
  from_json(plan, 'STRUCT<heavy: ARRAY<STRUCT<hash: BIGINT>>>').heavy,
  h -> h.hash = key_hash
)
