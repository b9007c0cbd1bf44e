-- The most frequent keys of a column, from what approx_top_k and count(*) say of it: one pass over the table, combined
-- before the shuffle, and no Python. Counts are estimates where the column has more distinct values than the sketch
-- keeps (maxItemsTracked, the third argument of approx_top_k, 10000 by default). Needs Spark 4.1, for approx_top_k.
-- Example: SELECT k.* FROM (SELECT approx_top_k(CAST(customer_id AS STRING), 20) AS top, count(*) AS n FROM orders),
--          LATERAL skew_top_keys(top, n) AS k
-- Inside skewkit.sql also: SELECT * FROM skew_top_keys(TABLE(orders), 'customer_id')
CREATE OR REPLACE TEMPORARY FUNCTION skew_top_keys(
  top ARRAY<STRUCT<item: STRING, count: BIGINT>> COMMENT 'approx_top_k of the key as a string',
  total BIGINT COMMENT 'count(*) of the same rows'
)
RETURNS TABLE (key STRING COMMENT 'the key as text', rows BIGINT COMMENT 'rows of the key', share DOUBLE COMMENT 'of all')
COMMENT 'The most frequent keys with their rows and shares.'
RETURN SELECT each.item, each.count, each.count / total FROM (SELECT explode(top) AS each)
