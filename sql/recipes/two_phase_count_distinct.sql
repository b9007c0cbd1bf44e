-- count(DISTINCT item) per customer in two phases: equal items of a customer meet in one of 8 parts, each part counts
-- its own, and the counts add up. No task holds all items of a hot customer. The rows are those of
--   SELECT cust, count(DISTINCT item) AS items FROM orders GROUP BY cust
-- Needs skew_salt.
SELECT cust, CAST(sum(items) AS BIGINT) AS items
FROM (
  SELECT cust, skew_salt(xxhash64(item), 8) AS part, count(DISTINCT item) AS items
  FROM orders
  GROUP BY cust, skew_salt(xxhash64(item), 8)
)
GROUP BY cust
