-- The partition of a row under a plan: a heavy key's rows are drawn from its alias table, any other key goes
-- where its bucket goes. The same arithmetic as KeyPlan.partition.
-- Example: skew_route('<KeyPlan.to_json()>', xxhash64(customer_id), xxhash64(order_id, line))
CREATE OR REPLACE TEMPORARY FUNCTION skew_route(
  plan STRING COMMENT 'a plan as JSON, KeyPlan.to_json()',
  key_hash BIGINT COMMENT 'xxhash64 of the key columns',
  row_hash BIGINT COMMENT 'xxhash64 of the columns that tell rows apart'
)
RETURNS INT
COMMENT 'The partition of a row under a plan.'
RETURN element_at(
  transform(
    array(from_json(
      plan,
      'STRUCT<heavy: ARRAY<STRUCT<hash: BIGINT, draws: ARRAY<STRUCT<t: BIGINT, p: INT, a: INT>>>>, buckets: ARRAY<INT>>'
    )),
    p -> coalesce(
      element_at(
        transform(
          filter(p.heavy, h -> h.hash = key_hash),
          h -> element_at(
            transform(
              slice(h.draws, CAST(pmod(row_hash & 2147483647, size(h.draws)) AS INT) + 1, 1),
              d -> IF(shiftright(row_hash, 33) + 1073741824 < d.t, d.p, d.a)
            ),
            1
          )
        ),
        IF(exists(p.heavy, h -> h.hash = key_hash), 1, NULL)
      ),
      element_at(p.buckets, CAST(pmod(key_hash, size(p.buckets)) AS INT) + 1)
    )
  ),
  1
)
