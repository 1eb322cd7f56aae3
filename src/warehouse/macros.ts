// SQL macros of the writing connection, which the catalog's expressions call. DuckDB expands a macro at each call and
// copies an argument to each use of its parameter, so fewer uses make shorter plans.
import { ROLES } from '../catalog/events/sender-roles.ts'
import { FORMS } from '../catalog/shape.ts'
import { MAX_CLOCK_SKEW_MS, MOMENT_TEXTS } from '../core/time.ts'

/** A numeric time by its magnitude, as in `core/time.ts`: seconds, ms or µs. NULL for 0 and for other magnitudes. */
const TO_MOMENT = `CREATE OR REPLACE TEMP MACRO to_moment(x) AS CASE WHEN x > 0 AND x < 1e17
  THEN make_timestamptz((x * CASE WHEN x < 1e11 THEN 1e6 WHEN x < 1e14 THEN 1e3 ELSE 1 END)::BIGINT) END`

/**
 * A time given as text: ISO-8601 or an epoch (`core/time.ts`); UTC if it has no offset. No other text is cast to
 * TIMESTAMPTZ, because DuckDB accepts time zone names there, and would then read later rows in the zone of an earlier
 * one. A cast to TIMESTAMP drops an offset, and one to TIMESTAMPTZ needs seconds.
 */
const PARSE_MOMENT = `CREATE OR REPLACE TEMP MACRO parse_moment(x) AS CASE
  WHEN regexp_full_match(x, '${MOMENT_TEXTS.utc}') THEN make_timestamptz(epoch_us(TRY_CAST(upper(x) AS TIMESTAMP)))
  WHEN regexp_full_match(x, '${MOMENT_TEXTS.epoch}') THEN to_moment(TRY_CAST(x AS DOUBLE))
  WHEN regexp_full_match(x, '${MOMENT_TEXTS.offset}') THEN TRY_CAST(
    upper(left(x, 16) || CASE WHEN x[17] = ':' THEN '' ELSE ':00' END || substr(x, 17)) AS TIMESTAMPTZ) END`

/**
 * A number given as text, in JSON's syntax and exact as a DOUBLE. DuckDB's own cast also accepts NaN, infinity and
 * 1_000, and drops digits of integers beyond 2^53.
 */
const PARSE_NUMBER = `CREATE OR REPLACE TEMP MACRO parse_number(x) AS CASE
  WHEN regexp_full_match(x, '-?(0|[1-9]\\d{0,15})') THEN
    CASE WHEN abs(TRY_CAST(x AS BIGINT)) <= 9007199254740991 THEN TRY_CAST(x AS DOUBLE) END
  WHEN regexp_full_match(x, '-?(0|[1-9]\\d*)((\\.\\d+)?[eE][+-]?\\d+|\\.\\d+)') AND isfinite(TRY_CAST(x AS DOUBLE))
    THEN TRY_CAST(x AS DOUBLE) END`

/** An integer given as text, in JSON's syntax (`12`, `12.0`, `1.2e1`); NULL for a fraction and beyond BIGINT. */
const PARSE_COUNT = `CREATE OR REPLACE TEMP MACRO parse_count(x) AS CASE
  WHEN regexp_full_match(x, '-?(0|[1-9]\\d*)') THEN TRY_CAST(x AS BIGINT)
  WHEN regexp_full_match(x, '-?(0|[1-9]\\d*)((\\.\\d+)?[eE][+-]?\\d+|\\.\\d+)') AND TRY_CAST(x AS DOUBLE) = trunc(TRY_CAST(x AS DOUBLE))
    THEN TRY_CAST(TRY_CAST(x AS DOUBLE) AS BIGINT) END`

/**
 * A record's reported last change; NULL if it is after the request by more than clocks may differ, since a version from
 * the future would win over all later ones.
 */
const CHANGED_AT = `CREATE OR REPLACE TEMP MACRO changed_at(modified, fetched) AS
  CASE WHEN epoch_us(to_moment(modified)) <= epoch_us(fetched) + ${MAX_CLOCK_SKEW_MS * 1_000} THEN to_moment(modified) END`

/**
 * Minimum freshness of a version: that of its last change, or of the mirror that it was read from. Used where one of
 * two versions has no `lastModified`.
 */
const FRESHNESS = `CREATE OR REPLACE TEMP MACRO freshness(modified, as_of) AS greatest(coalesce(modified, as_of), as_of)`

/**
 * The time by which full records are ordered: the last change, but no earlier than the day (UTC) on which the record was read. The
 * later last change wins among the reads of one day, and a read of a later day wins over all earlier ones (ADR 3).
 */
const STATE_TIME = `CREATE OR REPLACE TEMP MACRO state_time(modified, as_of) AS
  CASE WHEN modified IS NULL THEN as_of ELSE greatest(modified, date_trunc('day', as_of AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') END`

/** True if full record a replaces full record b. This is a total order, so tables do not depend on the order of arrival. */
const SUPERSEDES = `CREATE OR REPLACE TEMP MACRO supersedes(a_modified, a_as_of, a_fetched, b_modified, b_as_of, b_fetched) AS
  (state_time(a_modified, a_as_of), coalesce(a_modified, a_as_of), a_fetched) >= (state_time(b_modified, b_as_of), coalesce(b_modified, b_as_of), b_fetched)`

/** True if full record a replaces the fields of patch b. Of equal versions, the later fetch wins. */
const REPLACES = `CREATE OR REPLACE TEMP MACRO replaces(a_modified, a_as_of, a_fetched, b_modified, b_as_of, b_fetched) AS CASE
  WHEN a_modified IS NOT NULL AND b_modified IS NOT NULL AND a_modified <> b_modified THEN a_modified > b_modified
  WHEN a_modified IS NOT NULL AND b_modified IS NOT NULL THEN a_fetched >= b_fetched
  WHEN freshness(a_modified, a_as_of) <> freshness(b_modified, b_as_of)
    THEN freshness(a_modified, a_as_of) > freshness(b_modified, b_as_of)
  ELSE a_fetched >= b_fetched END`

/**
 * True if full record a and those that will supersede it replace patch b: also by freshness, since the next record may have no last
 * change to compare.
 */
const OUTDATES = `CREATE OR REPLACE TEMP MACRO outdates(a_modified, a_as_of, a_fetched, b_modified, b_as_of, b_fetched) AS
  replaces(a_modified, a_as_of, a_fetched, b_modified, b_as_of, b_fetched) AND freshness(b_modified, b_as_of) <= freshness(a_modified, a_as_of)`

/** The members of a JSON object, each with its text `"key":value`. */
const MEMBERS = `CREATE OR REPLACE TEMP MACRO members(object) AS list_transform(
  map_entries(coalesce(object, '{}')::MAP(VARCHAR, JSON)),
  lambda e: {rank: CASE WHEN regexp_full_match(e.key, '0|[1-9][0-9]{0,8}') THEN e.key::BIGINT ELSE 1e9::BIGINT END, key: e.key, text: to_json(e.key)::VARCHAR || ':' || coalesce(e.value::VARCHAR, 'null')})`

/**
 * The JSON object `below` without `keys`, plus the members of `above`; NULL if none is left. Values are replaced as a
 * whole, since the result of merging inside them would depend on the order of arrival.
 */
const LAID_OVER = `CREATE OR REPLACE TEMP MACRO laid_over(below, keys, above) AS nullif('{' || array_to_string(list_transform(list_sort(list_concat(
  list_filter(members(below), lambda m: NOT list_contains(keys, m.key)), members(above))), lambda m: m.text), ',') || '}', '{}')::JSON`

/**
 * The sum of integers, limited to the range of BIGINT: the vendor may send the largest number of its own language, and
 * a sum beyond the limit would fail every refresh.
 */
const TOTAL = `CREATE OR REPLACE TEMP MACRO total(x) AS
  CASE WHEN sum(x) IS NOT NULL THEN greatest(least(sum(x), 9223372036854775807), -9223372036854775808)::BIGINT END`

/**
 * NULL if a time is missing, if the second one comes first (as 0 it would lower an average), or more than ten years later, when one
 * of them must be wrong. It does not come first if it is the
 * whole second in which the first one lies, since some times are reported without fractions.
 */
const SECONDS_BETWEEN = `CREATE OR REPLACE TEMP MACRO seconds_between(a, b) AS
  CASE WHEN b >= a AND epoch_us(b) - epoch_us(a) <= 315576e9 THEN (epoch_us(b) - epoch_us(a)) / 1e6 WHEN epoch_us(b) = epoch_us(a) // 1000000 * 1000000 THEN 0 END`

/** True if both times are known, and the second one comes first. */
const IS_REVERSED = `CREATE OR REPLACE TEMP MACRO is_reversed(a, b) AS
  coalesce(b < a AND epoch_us(b) <> epoch_us(a) // 1000000 * 1000000, false)`

/** NULL for a blank text. */
const OR_NULL = `CREATE OR REPLACE TEMP MACRO or_null(x) AS CASE WHEN trim(x) <> '' THEN x END`

/** A dimension of a mart: `unknown` if the record does not say. */
const OR_UNKNOWN = `CREATE OR REPLACE TEMP MACRO or_unknown(x) AS coalesce(nullif(trim(x), ''), 'unknown')`

/** The first of the texts that is one word, in lower case; `unknown` for other texts, NULL for none. A text may be an address. */
const FIRST_WORD = `CREATE OR REPLACE TEMP MACRO first_word(texts) AS coalesce(
  list_filter(list_transform(texts, lambda x: lower(trim(x))), lambda x: regexp_full_match(x, '${FORMS.word}'))[1],
  CASE WHEN len(list_filter(texts, lambda x: trim(x) <> '')) > 0 THEN 'unknown' END)`

/** A code, such as the id of a model, as a dimension; `unknown` for other texts. */
const OR_CODE = `CREATE OR REPLACE TEMP MACRO or_code(x) AS CASE WHEN regexp_full_match(x, '${FORMS.code}') THEN x ELSE 'unknown' END`

/** A currency in upper case: a code or a sign; `unknown` for other texts. */
const OR_CURRENCY = `CREATE OR REPLACE TEMP MACRO or_currency(x) AS
  CASE WHEN regexp_full_match(trim(x), '[\\p{L}\\p{Sc}.]{1,5}') THEN upper(trim(x)) ELSE 'unknown' END`

/** A rating; NULL for a negative one, which is a data issue. The vendor states no range. */
const RATING = 'CREATE OR REPLACE TEMP MACRO rating(x) AS CASE WHEN x >= 0 AND isfinite(x) THEN x END'

/** True for a conversation that aggregates count: exported, no test, with a day. */
const IS_COUNTED = `CREATE OR REPLACE TEMP MACRO is_counted(complete, test, day) AS
  coalesce(complete, false) AND NOT coalesce(test, false) AND day IS NOT NULL`

/** True for a conversation that is resolved now. */
const IS_RESOLVED =
  'CREATE OR REPLACE TEMP MACRO is_resolved(resolved, resolved_at) AS coalesce(resolved, resolved_at IS NOT NULL)'

/** Whom a conversation is assigned to now. */
const ASSIGNEE_OF = `CREATE OR REPLACE TEMP MACRO assignee_of(chat_assigned_to, assigned_to) AS
  coalesce(or_null(chat_assigned_to), or_null(assigned_to))`

/** True for a conversation with a lead. */
const IS_LEAD = `CREATE OR REPLACE TEMP MACRO is_lead(stage, value) AS or_unknown(stage) <> 'unknown' OR value IS NOT NULL`

/** True for a text that has a date without a clock time, whose moment is midnight although nobody said so. */
const IS_DATE = `CREATE OR REPLACE TEMP MACRO is_date(x) AS coalesce(regexp_full_match(trim(x), '\\d{4}-\\d{2}-\\d{2}'), false)`

/** The day of a time in a time zone (an IANA name; NULL means UTC). */
const LOCAL_DAY = `CREATE OR REPLACE TEMP MACRO local_day(x, zone) AS (x AT TIME ZONE coalesce(zone, 'UTC'))::DATE`

/** The hour of the clock, 0 to 23, at a time in a time zone. */
const LOCAL_HOUR = `CREATE OR REPLACE TEMP MACRO local_hour(x, zone) AS hour(x AT TIME ZONE coalesce(zone, 'UTC'))`

/** An email address in lower case; NULL for any other text. */
const CONTACT_EMAIL = `CREATE OR REPLACE TEMP MACRO contact_email(x) AS
  CASE WHEN regexp_full_match(trim(x), '[^@\\s<>]+@[^@\\s<>]+\\.[^@\\s<>.]+') THEN lower(trim(x)) END`

/** A telephone number as `+` and digits; NULL for any other text, and for a number without a country code, which is ambiguous. */
const CONTACT_PHONE = `CREATE OR REPLACE TEMP MACRO contact_phone(x) AS
  nullif(regexp_extract(regexp_replace(regexp_replace(regexp_replace(trim(x), '\\(0\\)', ''), '[\\s()./-]', '', 'g'), '^00', '+'), '^\\+[1-9]\\d{6,14}$'), '')`

const SENDERS = ['contact', 'agent', 'person'] as const

/** The sender of a message, by the vendor's role name: the contact, the AI agent or a person; NULL for another role. */
const SENDER_OF = `CREATE OR REPLACE TEMP MACRO sender_of(role) AS CASE
  ${SENDERS.map(sender => `WHEN lower(role) IN ('${ROLES[sender].join("', '")}') THEN '${sender}'`).join(' ')} END`

/** The id of the person who wrote a message, from the fields without a column. The vendor does not document their names. */
const SENDER_ID_OF = `CREATE OR REPLACE TEMP MACRO sender_id_of(fields) AS
  list_filter(json_extract_string(fields, ['$.userId', '$.user_id', '$.senderId', '$.sender_id']), lambda id: trim(id) <> '')[1]`

export const MACROS = [
  TO_MOMENT,
  PARSE_MOMENT,
  PARSE_NUMBER,
  PARSE_COUNT,
  CHANGED_AT,
  FRESHNESS,
  STATE_TIME,
  SUPERSEDES,
  REPLACES,
  OUTDATES,
  MEMBERS,
  LAID_OVER,
  TOTAL,
  SECONDS_BETWEEN,
  IS_REVERSED,
  OR_NULL,
  OR_UNKNOWN,
  FIRST_WORD,
  OR_CODE,
  OR_CURRENCY,
  RATING,
  IS_COUNTED,
  IS_RESOLVED,
  ASSIGNEE_OF,
  IS_LEAD,
  IS_DATE,
  LOCAL_DAY,
  LOCAL_HOUR,
  CONTACT_EMAIL,
  CONTACT_PHONE,
  SENDER_OF,
  SENDER_ID_OF,
]
