// SQL macros of the writing connection; the catalog's expressions call them. A macro is written out at each call, with its argument
// wherever it uses it: the fewer uses, the less there is to plan.

/** Numeric time by magnitude, as `core/time.ts` reads it: seconds, ms or µs; 0 and nonsense are NULL. */
const TO_MOMENT = `CREATE OR REPLACE TEMP MACRO to_moment(x) AS CASE WHEN x > 0 AND x < 1e17
  THEN make_timestamp((x * CASE WHEN x < 1e11 THEN 1e6 WHEN x < 1e14 THEN 1e3 ELSE 1 END)::BIGINT) END`

/**
 * Text that tells a time: an epoch, or ISO-8601. By way of TIMESTAMPTZ, because a plain TIMESTAMP drops the offset;
 * the session's zone is UTC, so that text without an offset is UTC. Told apart by the character after the year's four
 * digits: a regular expression took three times as long.
 */
const PARSE_MOMENT = `CREATE OR REPLACE TEMP MACRO parse_moment(x) AS CASE
  WHEN x[5] = '-' AND x[1] BETWEEN '0' AND '9' THEN TRY_CAST(x AS TIMESTAMPTZ) AT TIME ZONE 'UTC'
  WHEN x[1] BETWEEN '0' AND '9' AND NOT contains(lower(x), 'e') THEN to_moment(TRY_CAST(x AS DOUBLE)) END`

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
  lambda e: {key: e.key, text: to_json(e.key)::VARCHAR || ':' || coalesce(e.value::VARCHAR, 'null')})`

/**
 * The JSON object \`below\` without \`keys\`, and over it \`above\`; NULL where nothing is left. Whole values replace whole
 * values: a merge of what lies inside them would depend on the order of arrival.
 */
const LAID_OVER = `CREATE OR REPLACE TEMP MACRO laid_over(below, keys, above) AS nullif('{' || array_to_string(list_concat(
  list_transform(list_filter(members(below), lambda m: NOT list_contains(keys, m.key)), lambda m: m.text),
  list_transform(members(above), lambda m: m.text)), ',') || '}', '{}')::JSON`

export const MACROS = [TO_MOMENT, PARSE_MOMENT, FRESHNESS, REPLACES, MEMBERS, LAID_OVER]
