-- NATURAL joins | native
SELECT /*+ SKEW('a', 'k', (0)) */ v FROM a NATURAL JOIN c;
SELECT v FROM a NATURAL JOIN c;
-- PIVOT groups by what it does not name | native
SELECT /*+ SKEW('a', 'k', (0)) */ * FROM (SELECT a.k, w FROM a JOIN b ON a.k = b.k) a PIVOT (count(1) FOR w IN (2, 4));
SELECT * FROM (SELECT a.k, w FROM a JOIN b ON a.k = b.k) a PIVOT (count(1) FOR w IN (2, 4));
-- a correlated sub-query | native
SELECT c.x, (SELECT /*+ SKEW('a', 'k', (0)) */ count(*) FROM a JOIN b ON a.k = b.k WHERE a.j = c.j) AS n FROM c;
SELECT c.x, (SELECT count(*) FROM a JOIN b ON a.k = b.k WHERE a.j = c.j) AS n FROM c;
-- a relation that a hint of Spark's own broadcasts | native
SELECT /*+ BROADCAST(b), SKEW('a', 'k', 0) */ v FROM a JOIN b ON a.k = b.k;
SELECT /*+ BROADCAST(b) */ v FROM a JOIN b ON a.k = b.k;
-- a LATERAL sub-query | native
SELECT /*+ SKEW('a', 'k', 0) */ v, q.w FROM a JOIN LATERAL (SELECT w FROM b WHERE b.k = a.k) q;
SELECT v, q.w FROM a JOIN LATERAL (SELECT w FROM b WHERE b.k = a.k) q;
-- no key of the hint's column | native
SELECT /*+ SKEW('a', 's') */ v FROM a JOIN b ON a.k = b.k;
SELECT v FROM a JOIN b ON a.k = b.k;
-- a star with EXCEPT | native
SELECT /*+ SKEW('a', 'k', 0) */ * EXCEPT (w) FROM a JOIN b USING (k);
SELECT * EXCEPT (w) FROM a JOIN b USING (k);
-- a recursive common table | native
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT /*+ SKEW('a', 'k', 0) */ v, n FROM r JOIN a ON r.n = a.k;
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT v, n FROM r JOIN a ON r.n = a.k;
-- a name that is a relation and a column | native
SELECT /*+ SKEW('k', 'k', (0)) */ k.k, w FROM (SELECT k, v FROM a) AS k JOIN (SELECT k AS bk, w FROM b) b ON k.k = bk WHERE k > 0;
SELECT k.k, w FROM (SELECT k, v FROM a) AS k JOIN (SELECT k AS bk, w FROM b) b ON k.k = bk WHERE k > 0;
-- a FROM before its SELECT | native
FROM a JOIN b ON a.k = b.k SELECT /*+ SKEW('a', 'k', (0)) */ v, w;
SELECT v, w FROM a JOIN b ON a.k = b.k;
-- IN and EXISTS | native
SELECT /*+ SKEW('a', 'k', (0)) */ v FROM a WHERE k IN (SELECT k FROM b) OR EXISTS (SELECT 1 FROM c WHERE c.j = a.j);
SELECT v FROM a WHERE k IN (SELECT k FROM b) OR EXISTS (SELECT 1 FROM c WHERE c.j = a.j);
