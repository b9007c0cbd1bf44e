-- automatic names, GROUP BY an expression | salt
SELECT /*+ SKEW('a', 'k', (0)) */ a.k + 1, sum(w) FROM a JOIN b ON a.k = b.k GROUP BY a.k + 1;
SELECT a.k + 1, sum(w) FROM a JOIN b ON a.k = b.k GROUP BY a.k + 1;
-- CUBE, HAVING, ORDER BY, LIMIT | salt
SELECT /*+ SKEW('a', 'k', (0)) */ a.s, b.s AS bs, count(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY CUBE(a.s, b.s) HAVING count(*) > 5 ORDER BY n DESC, s, bs LIMIT 1000;
SELECT a.s, b.s AS bs, count(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY CUBE(a.s, b.s) HAVING count(*) > 5 ORDER BY n DESC, s, bs LIMIT 1000;
-- a window over the join | salt
SELECT /*+ SKEW('a', 'k', (0)) */ a.k, w, row_number() OVER (PARTITION BY a.s ORDER BY v, w) rn FROM a JOIN b ON a.k = b.k;
SELECT a.k, w, row_number() OVER (PARTITION BY a.s ORDER BY v, w) rn FROM a JOIN b ON a.k = b.k;
-- GROUP BY and ORDER BY a qualified name | any
SELECT /*+ SKEW('a', 'k', (0)) */ a.s, sum(b.w) AS w FROM a JOIN b ON a.k = b.k GROUP BY a.s ORDER BY a.s;
SELECT a.s, sum(b.w) AS w FROM a JOIN b ON a.k = b.k GROUP BY a.s ORDER BY a.s;
-- LATERAL VIEW | salt
SELECT /*+ SKEW('a', 'k', (0)) */ a.k, e FROM a JOIN b ON a.k = b.k LATERAL VIEW explode(array(v, w)) t AS e;
SELECT a.k, e FROM a JOIN b ON a.k = b.k LATERAL VIEW explode(array(v, w)) t AS e;
-- correlated sub-queries around the hinted join | salt
SELECT /*+ SKEW('a', 'k', (0)) */ a.k, w, (SELECT max(x) FROM c WHERE c.j = a.j) AS m FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM c WHERE c.j = a.j AND c.x < b.w);
SELECT a.k, w, (SELECT max(x) FROM c WHERE c.j = a.j) AS m FROM a JOIN b ON a.k = b.k WHERE EXISTS (SELECT 1 FROM c WHERE c.j = a.j AND c.x < b.w);
-- pipes | salt
SELECT /*+ SKEW('a', 'k', (0)) */ v, w FROM a JOIN b ON a.k = b.k |> WHERE v > 10 |> AGGREGATE sum(w) AS t GROUP BY v;
SELECT v, w FROM a JOIN b ON a.k = b.k |> WHERE v > 10 |> AGGREGATE sum(w) AS t GROUP BY v;
-- inside common tables, and over one | salt
WITH x AS (SELECT /*+ SKEW('a', 'k', (0)) */ a.k, b.w, v FROM a JOIN b ON a.k = b.k), y AS (SELECT k, count(*) n FROM x GROUP BY k) SELECT /*+ SKEW('x', 'k') */ x.v, y.n FROM x JOIN y ON x.k = y.k;
WITH x AS (SELECT a.k, b.w, v FROM a JOIN b ON a.k = b.k), y AS (SELECT k, count(*) n FROM x GROUP BY k) SELECT x.v, y.n FROM x JOIN y ON x.k = y.k;
-- both parts of a union | salt
SELECT /*+ SKEW('a', 'k', (0)) */ v FROM a JOIN b ON a.k = b.k UNION ALL SELECT /*+ SKEW('a', 'k', (0)) */ w FROM a JOIN b ON a.k = b.k;
SELECT v FROM a JOIN b ON a.k = b.k UNION ALL SELECT w FROM a JOIN b ON a.k = b.k;
-- inside a sub-query of a FROM | salt
SELECT q.k, x FROM (SELECT /*+ SKEW('a', 'k', (0)) */ a.k, b.w AS w FROM a JOIN b ON a.k = b.k) q JOIN c ON q.k = c.k;
SELECT q.k, x FROM (SELECT a.k, b.w AS w FROM a JOIN b ON a.k = b.k) q JOIN c ON q.k = c.k;
-- structs, fields, lateral aliases, a struct of all | salt
SELECT /*+ SKEW('a', 'k', (0)) */ a.st.f, st.g AS g2, a.v AS q, q + 1 AS r, struct(*) AS z FROM a JOIN b USING (k);
SELECT a.st.f, st.g AS g2, a.v AS q, q + 1 AS r, struct(*) AS z FROM a JOIN b USING (k);
-- DISTINCT, ORDER BY what is not selected | salt
SELECT /*+ SKEW('a', 'k', (0)) */ DISTINCT a.k FROM a JOIN b ON a.k = b.k AND a.v BETWEEN b.w AND b.w + 1000 ORDER BY k;
SELECT DISTINCT a.k FROM a JOIN b ON a.k = b.k AND a.v BETWEEN b.w AND b.w + 1000 ORDER BY k;
-- a hinted GROUP BY | any
SELECT /*+ SKEW('a', 'k', (0)) */ k, size(collect_set(v)) AS n, count(*) AS m FROM a WHERE v > 7 GROUP BY k HAVING count(*) > 1 ORDER BY count(*);
SELECT k, size(collect_set(v)) AS n, count(*) AS m FROM a WHERE v > 7 GROUP BY k HAVING count(*) > 1 ORDER BY count(*);
-- a hinted GROUP BY, by an alias, automatic names | wrap
SELECT /*+ SKEW('t', 'k', (0)) */ t.k, percentile(v, 0.5), percentile(v, 0.9) + 1 FROM a AS t GROUP BY t.k;
SELECT t.k, percentile(v, 0.5), percentile(v, 0.9) + 1 FROM a AS t GROUP BY t.k;
-- hinted windows | split
SELECT /*+ SKEW('a', 'k', (0)) */ *, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS rn, sum(v + 1) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), lag(s, 2, '-') OVER (PARTITION BY a.k ORDER BY v) AS was FROM a WHERE v % 2 = 0;
SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS rn, sum(v + 1) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), lag(s, 2, '-') OVER (PARTITION BY a.k ORDER BY v) AS was FROM a WHERE v % 2 = 0;
-- frames in the short form | split
SELECT /*+ SKEW('a', 'k', (0)) */ v, sum(v) OVER (PARTITION BY k ORDER BY v ROWS 2 PRECEDING) AS s, max(v) OVER (PARTITION BY k ORDER BY v ROWS UNBOUNDED PRECEDING) AS m FROM a;
SELECT v, sum(v) OVER (PARTITION BY k ORDER BY v ROWS 2 PRECEDING) AS s, max(v) OVER (PARTITION BY k ORDER BY v ROWS UNBOUNDED PRECEDING) AS m FROM a;
-- several hint comments | salt
SELECT /*+ COALESCE(3) */ -- and
  /*+ SKEW('a', 'k', (0)) */ v, w FROM a JOIN b ON a.k = b.k;
SELECT v, w FROM a JOIN b ON a.k = b.k;
-- a HAVING over a name of the list | native
SELECT /*+ SKEW('a', 'j', (0)) */ -j AS j, percentile(v, 0.5) AS p FROM a GROUP BY j HAVING j < -10 AND count(*) > 1;
SELECT -j AS j, percentile(v, 0.5) AS p FROM a GROUP BY j HAVING j < -10 AND count(*) > 1;
-- a window function with a truth value | any
SELECT /*+ SKEW('a', 'k', (0)) */ v, first_value(j, true) OVER (PARTITION BY k ORDER BY v) AS f FROM a;
SELECT v, first_value(j, true) OVER (PARTITION BY k ORDER BY v) AS f FROM a;
