"""How stable the functions of Spark SQL are, by the names that they have in SQL and in plans: an allow-list.

A test compares this with the functions that a session has. A function that is not here is UNKNOWN: one of a user,
of Hive, in Python, or of a version of Spark that nobody has checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class FunctionKind(Enum):
    """What the value of a function depends on beside its arguments."""

    STABLE = "stable"
    """The same for the same arguments; of aggregates, for the same rows in any order."""
    SESSION = "session"
    """The same in one query: the optimizer puts the value in its place."""
    RANK = "rank"
    """Window functions with a frame of rows that are the same for rows that tie."""
    ROW_ORDER = "row order"
    """What a function takes of several rows depends on their order."""
    DIGITS = "digits"
    """Aggregates that add floating-point numbers."""
    SUM = "sum"
    """The same, unless the plan shows that whole numbers or decimals are added."""
    FILE = "file"
    """The file that is being read: the same below the first shuffle, and nothing after it."""
    POSITION = "position"
    """Where a row is."""
    RANDOM = "random"
    """Drawn from a seed and the place of the row."""
    UNSEEDED = "unseeded"
    """Drawn anew whenever it is computed, as an initialization vector is."""
    JAVA = "java"
    """Whatever a method of Java returns."""


_BY_KIND = {
    FunctionKind.STABLE: """
        abs acos acosh add_months aes_decrypt aggregate any approx_count_distinct approx_top_k_estimate array
        array_append array_binary_search array_compact array_contains array_distinct array_except array_insert
        array_intersect array_join array_max array_min array_position array_prepend array_remove array_repeat
        array_size array_sort array_union arrays_overlap arrays_zip ascii asin asinh assert_true atan atan2
        atanh base64 bigint bin binary bit_and bit_count bit_get bit_length bit_or bit_xor bitmap_and_agg
        bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg bitwise_not
        bloom_filter_agg bool_and bool_or boolean bround btrim bucket cardinality cast cbrt ceil ceiling char
        char_length character_length chr coalesce collate collation collations concat concat_ws contains conv
        convert_timezone cos cosh cot count count_if count_min_sketch crc32 create_map csc date date_add
        date_diff date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day
        dayname dayofmonth dayofweek dayofyear days decimal decode degrees double e element_at elt encode
        endswith equal_null every exists exp explode explode_outer expm1 extract factorial filter find_in_set
        flatten float floor forall format_number format_string from_avro from_base32 from_csv from_json
        from_protobuf from_unixtime from_utc_timestamp from_xml get get_json_object getbit greatest grouping
        grouping_id hash hex hll_sketch_estimate hll_union hmac hour hours hypot if ifnull ilike initcap inline
        inline_outer instr int is_valid_utf8 is_valid_variant is_variant_null isnan isnotnull isnull
        jaro_winkler_similarity json_array_length json_object_keys json_tuple kll_sketch_get_n_bigint
        kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint
        kll_sketch_get_quantile_double kll_sketch_get_quantile_float kll_sketch_get_rank_bigint
        kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double
        kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double
        kll_sketch_to_string_float last_day lcase least left len length levenshtein like ln locate log log10
        log1p log2 lower lpad ltrim luhn_check make_date make_dt_interval make_interval make_time make_timestamp
        make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map map_concat map_contains_key
        map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with mask max md5
        median min minute mod month monthname months months_between named_struct nanvl negative next_day nullif
        nullifzero nvl nvl2 octet_length overlay parse_json parse_url percentile percentile_cont percentile_disc
        pi pmod posexplode posexplode_outer position positive pow power printf python_worker_logs quarter quote
        radians raise_error range reduce regexp regexp_count regexp_extract regexp_extract_all regexp_instr
        regexp_like regexp_replace regexp_substr regr_count repeat replace reverse right rint rlike round rpad
        rtrim schema_of_avro schema_of_csv schema_of_json schema_of_variant schema_of_variant_agg schema_of_xml
        sec second sentences sequence session_window sha sha1 sha2 shiftleft shiftright shiftrightunsigned sign
        signum sin sinh size slice smallint some sort_array soundex space split split_part sql_keywords sqrt
        st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid stack startswith str_to_map string struct
        substr substring substring_index tan tanh theta_difference theta_intersection theta_sketch_estimate
        theta_union time time_bucket time_diff time_from_micros time_from_millis time_from_seconds
        time_to_micros time_to_millis time_to_seconds time_trunc timestamp timestamp_add timestamp_diff
        timestamp_micros timestamp_millis timestamp_nanos timestamp_ntz_to_long timestamp_seconds timestampadd
        timestampdiff tinyint to_avro to_base32 to_binary to_char to_csv to_date to_json to_number to_protobuf
        to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar
        to_variant_object to_xml transform transform_keys transform_values translate trim trunc try_add
        try_aes_decrypt try_divide try_element_at try_make_interval try_make_timestamp try_make_timestamp_ltz
        try_make_timestamp_ntz try_mod try_multiply try_parse_json try_parse_url try_subtract try_to_binary
        try_to_date try_to_number try_to_time try_to_timestamp try_url_decode try_validate_utf8
        try_variant_array_append try_variant_get try_variant_insert try_variant_set tuple_difference_double
        tuple_difference_integer tuple_difference_theta_double tuple_difference_theta_integer
        tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
        tuple_intersection_theta_integer tuple_sketch_estimate_double tuple_sketch_estimate_integer
        tuple_sketch_summary_double tuple_sketch_summary_integer tuple_sketch_theta_double
        tuple_sketch_theta_integer tuple_union_double tuple_union_integer tuple_union_theta_double
        tuple_union_theta_integer typeof ucase unbase64 unhex unix_date unix_micros unix_millis unix_nanos
        unix_seconds unix_timestamp unwrap_udt upper url_decode url_encode validate_utf8 variant_array_append
        variant_delete variant_explode variant_explode_outer variant_get variant_insert variant_set
        variant_strip_nulls vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm
        vector_normalize weekday weekofyear when width_bucket window window_time xpath xpath_boolean
        xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string xxhash64 year years
        zeroifnull zip_with
    """,
    FunctionKind.SESSION: """
        curdate current_catalog current_database current_date current_path current_schema current_time
        current_timestamp current_timezone current_user localtime localtimestamp now session_user user version
    """,
    FunctionKind.RANK: """
        cume_dist dense_rank percent_rank rank
    """,
    FunctionKind.ROW_ORDER: """
        any_value approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine array_agg
        collect_list collect_set collect_top_k collect_union counter_diff ewm first first_value
        histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
        kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float lag last last_value
        lead listagg max_by min_by mode nth_value ntile null_index pandas_mode percentile_approx row_number
        string_agg string_agg_distinct theta_intersection_agg theta_sketch_agg theta_union_agg
        tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
        tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer
    """,
    FunctionKind.DIGITS: """
        avg corr covar_pop covar_samp kurtosis mean pandas_covar pandas_kurt pandas_product pandas_skew
        pandas_stddev pandas_var product regr_avgx regr_avgy regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
        regr_syy regrreplacement skewness std stddev stddev_pop stddev_samp try_avg var_pop var_samp variance
        vector_avg vector_sum
    """,
    FunctionKind.SUM: """
        sum try_sum
    """,
    FunctionKind.FILE: """
        input_file_name
    """,
    FunctionKind.POSITION: """
        distributed_id distributed_sequence_id input_file_block_length input_file_block_start
        monotonically_increasing_id spark_partition_id
    """,
    FunctionKind.RANDOM: """
        rand randn random randstr shuffle uniform uuid
    """,
    FunctionKind.UNSEEDED: """
        aes_encrypt expressionimplutils.aesencrypt
    """,
    FunctionKind.JAVA: """
        java_method reflect try_reflect
    """,
}

_IN_PLANS = """
    ansi_cast arraysize arraysort arraytype assertnotnull atleastnnonnulls binarytype booleantype charactertype
    chartype checkoverflow checkoverflowinsum checkoverflowintableinsert collationkey csvtostructs currentrow$
    dateaddinterval dateaddyminterval datetimesub datetype decimaladdnooverflowcheck
    decimaldividewithoverflowcheck decimaltype direct_shuffle_partition_id div divide_interval dividedtinterval
    divideinterval divideyminterval empty2null evaluate expressionimplutils.aesdecrypt
    expressionimplutils.getsentences expressionimplutils.getsparkversion expressionimplutils.isluhnnumber
    expressionimplutils.quote expressionimplutils.tryvalidateutf8string expressionimplutils.validateutf8string
    extractansiintervaldays extractansiintervalhours extractansiintervalminutes extractansiintervalmonths
    extractansiintervalseconds extractansiintervalyears extractintervaldays extractintervalhours
    extractintervalminutes extractintervalmonths extractintervalseconds extractintervalyears getarrayitem
    getarraystructfields getmapvalue getstructfield gettimestamp getviewcolumnbynameandordinal hive-hash
    hivehash hyperloglogplusplus inset insubset integertype isvalid jsontostructsevaluator known_invoke
    knownfloatingpointnormalized knownnondeterministic knownnotcontainsnull knownnotnull knownnullable
    lambdafunction like_all like_any likeall likeany list longtype makedecimal makevalid mapobjects maptype
    might_contain mightcontain monthsbetween multilike multiply_interval multiplydtinterval multiplyinterval
    multiplyyminterval named_lambda_variable none normalizenanandzero notlikeall notlikeany numeric
    parseurlevaluator pivotfirst precisetimestampconversion promote_precision replicaterows schemaofcsvevaluator
    schemaofjsonevaluator schemaofvariant.schemaofvariant secondwithfraction spark_grouping_id
    specifiedwindowframe static_invoke stringinstr stringlocate stringreplace stringsplitsql stringtrim
    stringtrimleft stringtrimright stringtype stringtype$ structfield structs structstojsonevaluator structtype
    substringindex subtractdates subtracttimestamps time_window timeadd timestampaddinterval
    timestampaddyminterval timestamptype timetype toprettystring totimeparser totimeparser.parse truncdate
    trunctimestamp try_cast tryeval unboundedfollowing$ unboundedpreceding$ unscaledvalue unspecifiedframe$
    unwrapoption update_fields varchartype windowspecdefinition wrapoption xpathbooleanevaluator
    xpathdoubleevaluator xpathevaluator xpathfloatevaluator xpathintevaluator xpathlistevaluator
    xpathlongevaluator xpathshortevaluator xpathstringevaluator
"""
"""Names that only plans have: of what stands for a function there, of operators, types and their fields."""
_PURE_CLASSES = frozenset(
    (
        "arrayexpressionutils",
        "base64",
        "bitmapexpressionutils",
        "bytearray",
        "bytearraymethods",
        "datetimeutils",
        "encode",
        "jsonexpressionutils",
        "stringdecode",
        "stutils",
        "tojavaarrayutils",
        "urlcodec",
        "variantexpressionevalutils",
        "vectorfunctionimplutils",
        "xmlexpressionevalutils",
    )
)
"""Classes of Spark whose methods have no state; plans show calls of these as `encode.encode(...)`."""

FUNCTIONS: Mapping[str, FunctionKind] = {
    **dict.fromkeys(_IN_PLANS.split(), FunctionKind.STABLE),
    **{name: kind for kind, names in _BY_KIND.items() for name in names.split()},
}
"""Function by name, in lower case."""


def kind_of(name: str) -> FunctionKind | None:
    """Return what the value of a function depends on, by its name in a plan. None where nobody knows.

    >>> kind_of("Upper"), kind_of("UrlCodec.decode"), kind_of("my_function")
    (<FunctionKind.STABLE: 'stable'>, <FunctionKind.STABLE: 'stable'>, None)
    """
    name = name.lower()
    pure = name.partition(".")[0] in _PURE_CLASSES and "." in name
    return FUNCTIONS.get(name, FunctionKind.STABLE if pure else None)


_EXPLODES = ("explode", "explode_outer", "posexplode", "posexplode_outer", "variant_explode", "variant_explode_outer")
GENERATORS = frozenset(
    (*_EXPLODES, "inline", "inline_outer", "json_tuple", "stack", "collations", "sql_keywords", "window")
)
"""Functions that make none, one or several rows of one, as overlapping windows of time do, too."""


def makes_one_value(name: str) -> bool:
    """Return whether a function of this name makes one value of a row, so that there are as many rows as before.

    >>> makes_one_value("UPPER"), makes_one_value("explode"), makes_one_value("of_a_user")
    (True, False, False)
    """
    return kind_of(name) is not None and name.lower() not in GENERATORS
