// SQL macros of the writing connection; the catalog's expressions call them. A macro is written out at each call, with its argument
// wherever it uses it: the fewer uses, the less there is to plan.
import { MAX_CLOCK_SKEW_MS, MOMENT_TEXTS } from '../core/time.ts'

/** Numeric time by magnitude, as `core/time.ts` reads it: seconds, ms or µs; 0 and nonsense are NULL. */
const TO_MOMENT = `CREATE OR REPLACE TEMP MACRO to_moment(x) AS CASE WHEN x > 0 AND x < 1e17
  THEN make_timestamp((x * CASE WHEN x < 1e11 THEN 1e6 WHEN x < 1e14 THEN 1e3 ELSE 1 END)::BIGINT) END`

/**
 * Text that tells a time: ISO-8601 or an epoch (`core/time.ts`); text without an offset is UTC. No other text is ever cast to
 * TIMESTAMPTZ: DuckDB reads names of time zones there, and would then read later rows in the zone of an earlier one. A cast to
 * TIMESTAMP leaves an offset out, and one to TIMESTAMPTZ needs seconds.
 */
const PARSE_MOMENT = `CREATE OR REPLACE TEMP MACRO parse_moment(x) AS CASE
  WHEN regexp_full_match(x, '${MOMENT_TEXTS.utc}') THEN TRY_CAST(upper(x) AS TIMESTAMP)
  WHEN regexp_full_match(x, '${MOMENT_TEXTS.epoch}') THEN to_moment(TRY_CAST(x AS DOUBLE))
  WHEN regexp_full_match(x, '${MOMENT_TEXTS.offset}') THEN make_timestamp(epoch_us(TRY_CAST(
    upper(left(x, 16) || CASE WHEN x[17] = ':' THEN '' ELSE ':00' END || substr(x, 17)) AS TIMESTAMPTZ))) END`

/**
 * Text that is a number as JSON writes one, and that a DOUBLE holds: DuckDB's own cast takes NaN, infinity and 1_000 too, and
 * leaves out digits of an integer beyond 2^53.
 */
const PARSE_NUMBER = `CREATE OR REPLACE TEMP MACRO parse_number(x) AS CASE
  WHEN regexp_full_match(x, '-?(0|[1-9]\\d{0,15})') THEN
    CASE WHEN abs(TRY_CAST(x AS BIGINT)) <= 9007199254740991 THEN TRY_CAST(x AS DOUBLE) END
  WHEN regexp_full_match(x, '-?(0|[1-9]\\d*)((\\.\\d+)?[eE][+-]?\\d+|\\.\\d+)') AND isfinite(TRY_CAST(x AS DOUBLE))
    THEN TRY_CAST(x AS DOUBLE) END`

/**
 * When a record says that it was changed, as far as that can be: what was changed after it was fetched was not changed then, and a
 * version from years ahead would win over all that comes. Clocks may differ by some minutes.
 */
const CHANGED_AT = `CREATE OR REPLACE TEMP MACRO changed_at(modified, fetched) AS
  CASE WHEN to_moment(modified) <= fetched + INTERVAL ${MAX_CLOCK_SKEW_MS} MILLISECOND THEN to_moment(modified) END`

/**
 * How fresh a version is at least, where the two sides have no \`lastModified\` to compare: no record is older than its
 * own last change, nor than the mirror it was read from.
 */
const FRESHNESS = `CREATE OR REPLACE TEMP MACRO freshness(modified, as_of) AS greatest(coalesce(modified, as_of), as_of)`

/** True where version a replaces version b (design: "Which value wins"): equal versions, the later fetch wins. */
const REPLACES = `CREATE OR REPLACE TEMP MACRO replaces(a_modified, a_as_of, a_fetched, b_modified, b_as_of, b_fetched) AS CASE
  WHEN a_modified IS NOT NULL AND b_modified IS NOT NULL AND a_modified <> b_modified THEN a_modified > b_modified
  WHEN a_modified IS NOT NULL AND b_modified IS NOT NULL THEN a_fetched >= b_fetched
  WHEN freshness(a_modified, a_as_of) <> freshness(b_modified, b_as_of)
    THEN freshness(a_modified, a_as_of) > freshness(b_modified, b_as_of)
  ELSE a_fetched >= b_fetched END`

/** Members of a JSON object, each written as `"key":value`. */
const MEMBERS = `CREATE OR REPLACE TEMP MACRO members(object) AS list_transform(
  map_entries(coalesce(object, '{}')::MAP(VARCHAR, JSON)),
  lambda e: {rank: CASE WHEN regexp_full_match(e.key, '0|[1-9][0-9]{0,8}') THEN e.key::BIGINT ELSE 1e9::BIGINT END, key: e.key, text: to_json(e.key)::VARCHAR || ':' || coalesce(e.value::VARCHAR, 'null')})`

/**
 * The JSON object \`below\` without \`keys\`, and over it \`above\`; NULL where nothing is left. Whole values replace whole
 * values: a merge of what lies inside them would depend on the order of arrival.
 */
const LAID_OVER = `CREATE OR REPLACE TEMP MACRO laid_over(below, keys, above) AS nullif('{' || array_to_string(list_transform(list_sort(list_concat(
  list_filter(members(below), lambda m: NOT list_contains(keys, m.key)), members(above))), lambda m: m.text), ',') || '}', '{}')::JSON`

export const MACROS = [TO_MOMENT, PARSE_MOMENT, PARSE_NUMBER, CHANGED_AT, FRESHNESS, REPLACES, MEMBERS, LAID_OVER]
