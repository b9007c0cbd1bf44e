-- A running sum per customer, cut along its order: every block of 100 ids is summed by itself, and what the blocks
-- before it hold is added. No task holds all rows of a hot customer. The rows are those of
--   SELECT cust, id, sum(amount) OVER (PARTITION BY cust ORDER BY id) AS total FROM orders
-- Rows that tie in the order are in one block, because the block follows from the order alone.
WITH blocks AS (
  SELECT cust, id, amount, id DIV 100 AS block FROM orders
),
earlier AS (
  SELECT cust, block, sum(total) OVER (PARTITION BY cust ORDER BY block ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    AS total
  FROM (SELECT cust, block, sum(amount) AS total FROM blocks GROUP BY cust, block)
)
SELECT
  b.cust,
  b.id,
  sum(b.amount) OVER (PARTITION BY b.cust, b.block ORDER BY b.id) + coalesce(earlier.total, 0) AS total
FROM blocks b JOIN earlier ON b.cust <=> earlier.cust AND b.block <=> earlier.block
