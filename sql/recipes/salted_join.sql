-- A join whose hot keys are spread over 8 tasks: rows of a hot key get a salt that follows from the row, and the other
-- side's rows of that key are copied once per salt. All other rows have salt 0. The rows are those of
--   SELECT o.id, o.cust, c.name FROM orders o JOIN customers c ON o.cust = c.cust
-- Needs skew_salt and skew_salts. The hot keys are named in hot; skew_top_keys finds them.
WITH hot AS (
  SELECT explode(array(0, 1)) AS cust
),
salted AS (
  SELECT o.id, o.cust, IF(hot.cust IS NULL, 0, skew_salt(xxhash64(o.id), 8)) AS salt
  FROM orders o LEFT JOIN hot ON o.cust = hot.cust
),
copied AS (
  SELECT cust, name, explode(salts) AS salt
  FROM (
    SELECT c.cust, c.name, IF(hot.cust IS NULL, array(0), skew_salts(8)) AS salts
    FROM customers c LEFT JOIN hot ON c.cust = hot.cust
  )
)
SELECT s.id, s.cust, c.name
FROM salted s JOIN copied c ON s.cust = c.cust AND s.salt = c.salt
