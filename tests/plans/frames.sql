-- Frames whose plans are stored for each version of Spark, and what is to be said of each: "-- name: column=LEVEL ...".
-- `rows` is the frame's rows without their values; a column that is not named has the level of the rows.
-- `{folder}` is the folder of the files.

-- files: rows=STABLE
SELECT * FROM facts
-- files_filtered: rows=STABLE
SELECT k, v AS w, x + 1 AS y FROM facts WHERE v > 3 AND s LIKE 'a%'
-- orc: rows=STABLE
SELECT * FROM facts_orc
-- csv: rows=STABLE
SELECT * FROM facts_csv
-- json: rows=STABLE
SELECT * FROM facts_json
-- partitioned_files: rows=STABLE
SELECT * FROM facts_by_day WHERE day = 3
-- range: rows=STABLE
SELECT id, id % 7 AS k FROM range(1000)
-- listed: rows=STABLE
SELECT * FROM VALUES (1L, 'a'), (2L, 'b'), (3L, NULL) AS t(k, s)
-- empty: rows=STABLE
SELECT * FROM facts WHERE false
-- one_row: rows=STABLE
SELECT 1 AS one
-- cached: rows=STABLE
SELECT k, r FROM cached_random
-- cached_sums: rows=STABLE
SELECT k, `sum(x)` FROM cached_sums
-- arithmetic: rows=STABLE
SELECT -v AS a, v * 2 / 3 AS b, v % 5 AS c, v div 2 AS d, v & 1 AS e, ~v AS f, abs(v) + pmod(v, 3) AS g FROM facts
-- casts: rows=STABLE
SELECT CAST(v AS STRING) AS a, CAST(s AS INT) AS b, try_cast(s AS BIGINT) AS c, CAST(v AS DECIMAL(20, 2)) AS d FROM facts
-- conditions: rows=STABLE
SELECT CASE WHEN v > 2 THEN 'many' WHEN v < 0 THEN s ELSE 'few' END AS a, if(v > 1, k, NULL) AS b, coalesce(s, 'x') AS c, nullif(v, k) AS d, k IN (1, 2, 3) AS e, k IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) AS f, s RLIKE '[a-z]+' AS g, k IS NULL AS h, k <=> v AS i, NOT (k = v OR v > 3) AS j FROM facts
-- texts: rows=STABLE
SELECT concat(s, '-', k) AS a, upper(substr(s, 1, 3)) AS b, split(s, ',')[0] AS c, regexp_replace(s, 'a', 'b') AS d, lpad(s, 5, '0') AS e, md5(s) AS f, sha2(s, 256) AS g, base64(encode(s, 'utf-8')) AS h, format_string('%d', v) AS i FROM facts
-- times: rows=STABLE
SELECT date_trunc('DAY', t) AS a, to_date(t) AS b, year(t) AS c, t + INTERVAL 1 DAY AS d, date_add(to_date(t), 3) AS e, unix_timestamp(t) AS f, date_format(t, 'yyyy') AS g, make_date(2024, 1, 2) AS h FROM facts
-- nested: rows=STABLE
SELECT st.p AS a, ar[0] AS b, m['x'] AS c, size(ar) AS d, named_struct('a', k, 'b', s) AS e, map('a', v) AS f, array_sort(ar) AS g FROM facts
-- lambdas: rows=STABLE
SELECT transform(ar, e -> e + 1) AS a, filter(ar, e -> e > 2) AS b, aggregate(ar, 0, (acc, e) -> acc + e) AS c, exists(ar, e -> e = v) AS d FROM facts
-- hashes: rows=STABLE
SELECT hash(k, s) AS a, xxhash64(k) AS b, crc32(s) AS c FROM facts
-- json_functions: rows=STABLE
SELECT from_json(s, 'a INT, b STRING') AS a, to_json(st) AS b, get_json_object(s, '$.a') AS c FROM facts
-- current_times: rows=STABLE
SELECT k, current_date() AS a, current_timestamp() AS b, now() AS c, current_user() AS d FROM facts
-- a_literal_with_a_call: rows=STABLE k=STABLE a=RANDOM
SELECT k, concat(s, ' rand() ') AS a FROM facts
-- random: rows=STABLE k=STABLE r=RANDOM
SELECT k, rand() AS r FROM facts
-- random_seeded: rows=STABLE k=STABLE r=RANDOM n=RANDOM
SELECT k, rand(7) AS r, randn(7) AS n FROM facts
-- random_filter: rows=RANDOM
SELECT k, v FROM facts WHERE rand(3) < 0.5
-- random_key: rows=RANDOM
SELECT k, count(*) AS n FROM (SELECT CASE WHEN rand(1) < 0.5 THEN 7L ELSE k END AS k FROM facts) GROUP BY k
-- random_elsewhere: rows=STABLE k=STABLE u=RANDOM z=RANDOM
SELECT k, uuid() AS u, shuffle(ar) AS z FROM facts
-- encrypted: rows=STABLE k=STABLE token=RANDOM
SELECT k, hex(aes_encrypt(s, '0123456789abcdef')) AS token FROM facts
-- encrypted_key: rows=STABLE k=RANDOM v=STABLE
SELECT v, CASE WHEN substr(token, 1, 1) < '8' THEN 7L ELSE v % 2003 END AS k FROM (SELECT v, hex(aes_encrypt(string(v), '0123456789abcdef')) AS token FROM facts)
-- decrypted: rows=STABLE
SELECT k, aes_decrypt(unhex(s), '0123456789abcdef') AS a FROM facts
-- java: rows=STABLE k=STABLE j=UNKNOWN
SELECT k, reflect('java.lang.Math', 'abs', v) AS j FROM facts
-- positions: rows=STABLE k=STABLE a=RANDOM b=RANDOM
SELECT k, monotonically_increasing_id() AS a, spark_partition_id() AS b FROM facts
-- file_names: rows=STABLE
SELECT k, input_file_name() AS f FROM facts
-- file_metadata: rows=STABLE
SELECT k, _metadata.file_name AS f, _metadata.row_index AS i FROM parquet.`{folder}/facts`
-- limited: rows=RANDOM
SELECT k FROM facts LIMIT 10
-- top: rows=RANDOM
SELECT k, v FROM facts ORDER BY v LIMIT 10
-- offset: rows=RANDOM
SELECT k FROM facts ORDER BY k OFFSET 10
-- sampled: rows=RANDOM
SELECT * FROM facts TABLESAMPLE (10 PERCENT) REPEATABLE (7)
-- sorted: rows=STABLE
SELECT k, v FROM facts ORDER BY v, k
-- distinct: rows=STABLE
SELECT DISTINCT k, s FROM facts
-- counts: rows=STABLE
SELECT k, count(*) AS n, count(DISTINCT s) AS d, min(v) AS lo, max(s) AS hi, bool_or(v > 3) AS b FROM facts GROUP BY k
-- sum_of_ints: rows=STABLE
SELECT k, sum(v) AS q FROM facts GROUP BY k
-- sum_of_ints_plus: rows=STABLE
SELECT k, sum(v) + 1 AS q, sum(v) / count(*) AS r FROM facts GROUP BY k
-- sum_of_decimals: rows=STABLE
SELECT k, sum(d) AS q FROM facts GROUP BY k
-- sum_of_doubles: rows=STABLE k=STABLE q=BY_ROW_ORDER
SELECT k, sum(x) AS q FROM facts WHERE v > 1 GROUP BY k
-- sums_mixed: rows=STABLE k=STABLE a=STABLE b=STABLE c=BY_ROW_ORDER
SELECT k, sum(v) AS a, sum(d) AS b, sum(x) AS c FROM facts GROUP BY k
-- unnamed_aggregates: rows=STABLE k=STABLE
SELECT k, `sum(v)` + 1 AS q FROM (SELECT k, sum(v) FROM facts GROUP BY k)
-- averages: rows=STABLE k=STABLE a=BY_ROW_ORDER b=BY_ROW_ORDER c=BY_ROW_ORDER
SELECT k, avg(v) AS a, stddev(x) AS b, corr(x, v) AS c FROM facts GROUP BY k
-- firsts: rows=STABLE k=STABLE a=BY_ROW_ORDER b=BY_ROW_ORDER c=BY_ROW_ORDER d=BY_ROW_ORDER
SELECT k, first(v) AS a, collect_list(s) AS b, max_by(s, v) AS c, approx_percentile(v, 0.5) AS d FROM facts GROUP BY k
-- medians: rows=STABLE
SELECT k, median(v) AS a, percentile(v, 0.3) AS b FROM facts GROUP BY k
-- filter_on_first: rows=RANDOM
SELECT k, a FROM (SELECT k, first(v) AS a FROM facts GROUP BY k) WHERE a > 3
-- group_by_first: rows=RANDOM
SELECT a, count(*) AS n FROM (SELECT k, first(v) AS a FROM facts GROUP BY k) GROUP BY a
-- count_of_a_sample: rows=RANDOM
SELECT k, count(*) AS n FROM (SELECT * FROM facts TABLESAMPLE (10 PERCENT) REPEATABLE (7)) GROUP BY k
-- random_after_group_by: rows=STABLE k=STABLE r=RANDOM
SELECT k, rand(7) AS r FROM facts GROUP BY k
-- rollup: rows=STABLE
SELECT k, s, count(*) AS n, grouping_id() AS g FROM facts GROUP BY ROLLUP (k, s)
-- pivoted: rows=STABLE
SELECT * FROM (SELECT k, v, s FROM facts) PIVOT (sum(v) FOR s IN ('a', 'b'))
-- filtered_aggregate: rows=STABLE
SELECT k, count(*) FILTER (WHERE v > 3) AS n, sum(v) FILTER (WHERE s = 'a') AS q FROM facts GROUP BY k
-- window_ranks: rows=STABLE
SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r, dense_rank() OVER (PARTITION BY k ORDER BY v) AS d FROM facts
-- window_positions: rows=STABLE k=STABLE v=STABLE r=BY_ROW_ORDER l=BY_ROW_ORDER
SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v) AS r, lag(v) OVER (PARTITION BY k ORDER BY v) AS l FROM facts
-- window_sums: rows=STABLE k=STABLE a=STABLE c=BY_ROW_ORDER
SELECT k, sum(v) OVER (PARTITION BY k ORDER BY v) AS a, sum(x) OVER (PARTITION BY k ORDER BY v) AS c FROM facts
-- window_rows: rows=STABLE k=STABLE a=BY_ROW_ORDER
SELECT k, sum(v) OVER (PARTITION BY k ORDER BY v ROWS 1 PRECEDING) AS a FROM facts
-- window_whole: rows=STABLE
SELECT k, max(v) OVER (PARTITION BY k) AS a, count(*) OVER (PARTITION BY k) AS n FROM facts
-- window_top: rows=RANDOM
SELECT k, v FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v) AS r FROM facts) WHERE r <= 3
-- window_top_ranks: rows=STABLE
SELECT k, v FROM (SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM facts) WHERE r = 1
-- joined: rows=STABLE
SELECT f.k, f.v, d.name FROM facts f JOIN dims d ON f.k = d.k
-- joined_left: rows=STABLE
SELECT f.k, f.v, d.name FROM facts f LEFT JOIN dims d ON f.k = d.k AND f.v > 3
-- joined_full: rows=STABLE
SELECT f.k, d.name FROM facts f FULL JOIN dims d ON f.k = d.k
-- joined_semi: rows=STABLE
SELECT k, v FROM facts f WHERE EXISTS (SELECT 1 FROM dims d WHERE d.k = f.k)
-- joined_anti: rows=STABLE
SELECT k, v FROM facts f WHERE k NOT IN (SELECT k FROM dims)
-- joined_or_exists: rows=STABLE
SELECT k, v FROM facts f WHERE v > 3 OR EXISTS (SELECT 1 FROM dims d WHERE d.k = f.k)
-- joined_broadcast: rows=STABLE
SELECT /*+ BROADCAST(d) */ f.k, d.name FROM facts f JOIN dims d ON f.k = d.k
-- joined_cross: rows=STABLE
SELECT f.k, d.name FROM facts f CROSS JOIN dims d
-- joined_hash: rows=STABLE
SELECT /*+ SHUFFLE_HASH(d) */ f.k, d.name FROM facts f JOIN dims d ON f.k = d.k
-- joined_by_range: rows=STABLE
SELECT f.k, d.name FROM facts f JOIN dims d ON f.k < d.k
-- joined_random: rows=RANDOM
SELECT f.k, d.name FROM (SELECT cast(rand(3) * 10 AS BIGINT) AS k FROM facts) f JOIN dims d ON f.k = d.k
-- joined_random_beside: rows=STABLE k=STABLE r=RANDOM
SELECT f.k, f.r, d.name FROM (SELECT k, rand(3) AS r FROM facts) f JOIN dims d ON f.k = d.k
-- pruned_by_join: rows=STABLE
SELECT f.k, f.day, d.name FROM facts_by_day f JOIN dims d ON f.day = d.k WHERE d.name = 'n1'
-- union: rows=STABLE
SELECT k, v FROM facts UNION ALL SELECT k, 0L FROM dims
-- union_random: rows=STABLE k=STABLE v=RANDOM
SELECT k, double(v) AS v FROM facts UNION ALL SELECT k, rand(4) FROM dims
-- except: rows=STABLE
SELECT k FROM facts EXCEPT SELECT k FROM dims
-- intersect_all: rows=STABLE
SELECT k FROM facts INTERSECT ALL SELECT k FROM dims
-- exploded: rows=STABLE
SELECT k, e FROM facts LATERAL VIEW explode(ar) AS e
-- exploded_positions: rows=STABLE
SELECT k, p, e FROM facts LATERAL VIEW OUTER posexplode(ar) AS p, e
-- stacked: rows=STABLE
SELECT k, a FROM facts LATERAL VIEW stack(2, v, k) AS a
-- scalar_subquery: rows=STABLE
SELECT k, v - (SELECT max(v) FROM facts) AS w FROM facts WHERE v > (SELECT min(k) FROM dims)
-- scalar_subquery_average: rows=STABLE k=STABLE w=BY_ROW_ORDER
SELECT k, x - (SELECT avg(x) FROM facts) AS w FROM facts
-- filter_on_average: rows=RANDOM
SELECT k, v FROM facts WHERE x > (SELECT avg(x) FROM facts)
-- correlated: rows=STABLE
SELECT k, (SELECT max(name) FROM dims d WHERE d.k = f.k) AS n FROM facts f
-- with_twice: rows=STABLE
WITH c AS (SELECT k, count(*) AS n FROM facts GROUP BY k) SELECT a.k, b.n FROM c a JOIN c b ON a.k = b.n
-- with_random_twice: rows=RANDOM
WITH c AS (SELECT k, rand(6) AS r FROM facts) SELECT a.k FROM c a JOIN c b ON a.r = b.r
-- repartitioned: rows=STABLE
SELECT /*+ REPARTITION(4, k) */ k, v FROM facts
-- rebalanced: rows=STABLE
SELECT /*+ REBALANCE(k) */ k, v FROM facts
-- coalesced: rows=STABLE
SELECT /*+ COALESCE(1) */ k, v FROM facts
-- scripted: rows=UNKNOWN
SELECT TRANSFORM(k, v) USING 'cat' AS (a, b) FROM facts
