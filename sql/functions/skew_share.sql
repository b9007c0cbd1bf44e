-- The share of all rows that a key has in a profile. The same arithmetic as KeyProfile.share: a key that is not
-- heavy gets the mean share of the keys in its bucket.
-- Example: skew_share('<KeyProfile.to_json()>', xxhash64(customer_id))
CREATE OR REPLACE TEMPORARY FUNCTION skew_share(
  profile STRING COMMENT 'a profile as JSON, KeyProfile.to_json()',
  key_hash BIGINT COMMENT 'xxhash64 of the key columns'
)
RETURNS DOUBLE
COMMENT 'The share of a key in a profile, 0 to 1.'
RETURN element_at(
  transform(
    array(from_json(
      profile,
      'STRUCT<rows: DOUBLE, heavy: ARRAY<STRUCT<hash: BIGINT, estimate: DOUBLE>>, tail: ARRAY<DOUBLE>, tail_keys: ARRAY<DOUBLE>>'
    )),
    p -> IF(
      p.rows = 0,
      0D,
      coalesce(
        element_at(filter(p.heavy, h -> h.hash = key_hash).estimate, IF(exists(p.heavy, h -> h.hash = key_hash), 1, NULL)),
        element_at(p.tail, CAST(pmod(key_hash, size(p.tail)) AS INT) + 1)
          / greatest(element_at(p.tail_keys, CAST(pmod(key_hash, size(p.tail_keys)) AS INT) + 1), 1D)
      ) / p.rows
    )
  ),
  1
)
