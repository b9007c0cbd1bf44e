-- inner join on a column | salt
SELECT /*+ SKEW('a', 'k', (0)) */ a.k, a.v, b.w FROM a JOIN b ON a.k = b.k;
SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k;
-- a star with duplicate names | salt
SELECT /*+ SKEW('a', 'k', 0) */ * FROM a JOIN b ON a.k = b.k;
SELECT * FROM a JOIN b ON a.k = b.k;
-- left join with a one-sided predicate, a star of one alias | salt
select /*+ skew('A', 'K', (0)) */ a.*, b.w from a left join b on a.k = b.k and b.w > 100;
SELECT a.*, b.w FROM a LEFT JOIN b ON a.k = b.k AND b.w > 100;
-- right join with a residual | salt
SELECT /*+ SKEW('a', 'k', (0)) */ * FROM a RIGHT OUTER JOIN b ON a.k = b.k AND a.v > b.w;
SELECT * FROM a RIGHT OUTER JOIN b ON a.k = b.k AND a.v > b.w;
-- full join with USING | salt
SELECT /*+ SKEW('a', 'k', (0)) */ * FROM a FULL JOIN b USING (k);
SELECT * FROM a FULL JOIN b USING (k);
-- USING, and the hidden columns of both sides | salt
SELECT /*+ SKEW('a', 'k', (0)) */ k, a.k AS ak, b.k AS bk, w FROM a LEFT JOIN b USING (k) WHERE coalesce(w, 9) > 3;
SELECT k, a.k AS ak, b.k AS bk, w FROM a LEFT JOIN b USING (k) WHERE coalesce(w, 9) > 3;
-- semi join | salt
SELECT /*+ SKEW('a', 'k', (0)) */ * FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.w < 300;
SELECT * FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.w < 300;
-- anti join | salt
SELECT /*+ SKEW('a', 'j', (1)) */ v FROM a ANTI JOIN c ON a.j = c.j;
SELECT v FROM a ANTI JOIN c ON a.j = c.j;
-- commas and WHERE, as in Databricks' own examples | salt
SELECT /*+ SKEW('a', 'k', 0) */ count(*) FROM a, b WHERE a.k = b.k AND a.v > 10;
SELECT count(*) FROM a, b WHERE a.k = b.k AND a.v > 10;
-- commas, two columns of the key | salt
SELECT /*+ SKEW('a', ('k', 's'), ((0, '1'), (1, '2'))) */ a.v, b.w FROM a, b WHERE a.k = b.k AND a.s = b.s;
SELECT a.v, b.w FROM a, b WHERE a.k = b.k AND a.s = b.s;
-- commas in an order without a key between neighbours | salt
SELECT /*+ SKEW('a', 'k', (0)) */ * FROM c, b, a WHERE a.k = b.k AND c.j = a.j;
SELECT * FROM c, b, a WHERE a.k = b.k AND c.j = a.j;
-- a sub-query's alias | salt
SELECT /*+ SKEW('q', 'k', (0)) */ q.k, st.f, w FROM (SELECT k, st, v FROM a WHERE v > 5) AS q JOIN b ON q.k = b.k;
SELECT q.k, st.f, w FROM (SELECT k, st, v FROM a WHERE v > 5) AS q JOIN b ON q.k = b.k;
-- a table under an alias, by its own name | salt
SELECT /*+ SKEW('a', 'k', (0)) */ x.v + y.w FROM a AS x JOIN b AS y ON x.k = y.k;
SELECT x.v + y.w FROM a AS x JOIN b AS y ON x.k = y.k;
-- a self-join | salt
SELECT /*+ SKEW('l', 'k', 0) */ l.v, r.v FROM a l JOIN a r ON l.k = r.k AND l.v % 50 = 1 AND r.v % 70 = 1;
SELECT l.v, r.v FROM a l JOIN a r ON l.k = r.k AND l.v % 50 = 1 AND r.v % 70 = 1;
-- a chain on different keys, one hint each | salt
SELECT /*+ SKEW('a', 'k', (0)), SKEW('c', 'j', (3)) */ * FROM a JOIN b ON a.k = b.k LEFT JOIN c ON c.j = a.j;
SELECT * FROM a JOIN b ON a.k = b.k LEFT JOIN c ON c.j = a.j;
-- only the first join of a chain is cut | salt
SELECT /*+ SKEW('a', 'k', (0)) */ a.k, w, x FROM a JOIN b ON a.k = b.k JOIN c ON b.j = c.j WHERE x < 100;
SELECT a.k, w, x FROM a JOIN b ON a.k = b.k JOIN c ON b.j = c.j WHERE x < 100;
-- null-safe equality, a null among the values | salt
SELECT /*+ SKEW('a', 'j', (null, 1)) */ a.j, c.x FROM a JOIN c ON a.j <=> c.j;
SELECT a.j, c.x FROM a JOIN c ON a.j <=> c.j;
-- keys that are expressions | any
SELECT /*+ SKEW('a') */ upper(a.s), a.k FROM a JOIN b ON a.k + 1 = b.k * 1 AND lower(a.s) = lower(b.s);
SELECT upper(a.s), a.k FROM a JOIN b ON a.k + 1 = b.k * 1 AND lower(a.s) = lower(b.s);
-- the forms without quotes, beside another hint | salt
SELECT /*+ COALESCE(3), SKEW_JOIN(a(k)(0)) */ v, w FROM a JOIN b ON a.k = b.k;
SELECT /*+ COALESCE(3) */ v, w FROM a JOIN b ON a.k = b.k;
-- a hint of Spark's own on another relation | salt
SELECT /*+ BROADCAST(c), SKEW('a', 'k', (0)) */ v, w, x FROM a JOIN c ON a.j = c.j JOIN b ON a.k = b.k;
SELECT /*+ BROADCAST(c) */ v, w, x FROM a JOIN c ON a.j = c.j JOIN b ON a.k = b.k;
