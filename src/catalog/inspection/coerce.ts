// The tolerant path: coerces a record that cannot be staged as sent, field by field. Applies lossless casts; any other
// value of a wrong type goes to `extra` unchanged, so that nothing is lost (notes on the API, "Shapes").
import { ExactNumber } from '../../json/exact-json.ts'
import { type Field, type Fields, type PageOfRecord, type RecordType, sentFields } from '../shape.ts'
import { COERCED_EXTRA } from '../staging.ts'
import { declaredAs, fits, hasId, isObject, jsonType } from './inspect.ts'
import { inExtra, safeKey } from './unknown-fields.ts'
import { countIssue, FRACTION, mayHoldUnread, TOO_LARGE, unreadValues } from './unread-values.ts'

/** A value that did not fit its declared type, or was repaired during parsing. The safe path never contains a value. */
export interface Issue {
  path: string
  issue: string
  declared: string | null
  seen: string
}

export interface CoercedRecord {
  /** Record with declared types only. Other values are under `__extra` of the record or list element that contained them. */
  record: Record<string, unknown>
  issues: Issue[]
  /** Undeclared keys with a value, as safe paths; one entry per occurrence. */
  drift: { path: string; seen: string }[]
}

type Json = Record<string, unknown>
type Findings = Pick<CoercedRecord, 'issues' | 'drift'> & { atMs?: number | undefined }

/** Applies lossless casts that DuckDB does not make by itself. */
function cast(field: Field, value: unknown): unknown {
  if (field.kind !== 'scalar' || typeof value !== 'string') return undefined
  const trimmed = value.trim()
  if (field.type === 'boolean' && /^(true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === 'true'
  if (['count', 'number', 'time'].includes(field.type) && trimmed !== value && fits(field, trimmed)) return trimmed
  return undefined
}

function issueOf(field: Field, value: unknown): string {
  const type = field.kind === 'scalar' ? field.type : null
  if (type === 'count' && countIssue(value) === FRACTION) return FRACTION
  const isNumber = (type === 'count' || type === 'number') && jsonType(value) === 'number'
  return isNumber ? TOO_LARGE : 'wrong type'
}

const misfit = (path: string, field: Field, value: unknown): Issue => ({
  path,
  issue: issueOf(field, value),
  declared: declaredAs(field),
  seen: jsonType(value),
})

function coerceField(field: Field, value: unknown, path: string, found: Findings): { kept: unknown; spare: unknown } {
  if (!fits(field, value)) {
    const taken = cast(field, value)
    if (taken !== undefined) return { kept: taken, spare: undefined }
    found.issues.push(misfit(path, field, value))
    return { kept: null, spare: value }
  }
  if (value !== null && field.kind === 'scalar' && mayHoldUnread(field))
    found.issues.push(...unreadValues(field, value, path, found.atMs))
  if (value === null || value === undefined || field.kind === 'scalar' || field.kind === 'texts')
    return { kept: value, spare: undefined }
  if (field.kind === 'group') return coerceObject(field.fields, value as Json, `${path}.`, found)
  const elements = (value as (Json | null)[]).map(
    element => element && coerceElement(field.fields, element, `${path}[].`, found),
  )
  return { kept: elements, spare: undefined }
}

function coerceObject(
  fields: Fields,
  object: Json,
  prefix: string,
  found: Findings,
): { kept: Json; spare: Json | undefined } {
  const kept: Json = {}
  const spare: Json = {}
  for (const [key, value] of Object.entries(object)) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined
    if (!field && value !== null) found.drift.push({ path: prefix + safeKey(key), seen: jsonType(value) })
    const coerced = field
      ? coerceField(field, value, prefix + key, found)
      : { kept: undefined, spare: value ?? undefined }
    if (coerced.kept !== undefined) kept[key] = coerced.kept
    if (coerced.spare !== undefined) Object.defineProperty(spare, key, { value: coerced.spare, enumerable: true })
  }
  return { kept, spare: Object.keys(spare).length > 0 ? ordered(spare) : undefined }
}

/** Returns the object with its keys in the order of `extra`. Works for any key, `__proto__` included. */
const ordered = (spare: Json): Json =>
  Object.defineProperties(
    {},
    Object.fromEntries(
      Object.keys(spare)
        .sort(inExtra)
        .map(key => [key, { value: spare[key], enumerable: true }]),
    ),
  )

/** Coerces a record or a list element; values that did not fit go under its own `__extra`, since each row has its own `extra`. */
function coerceElement(fields: Fields, object: Json, prefix: string, found: Findings): Json {
  const { kept, spare } = coerceObject(fields, object, prefix, found)
  return { ...kept, ...(spare && { [COERCED_EXTRA]: spare }) }
}

/** Returns the id to stage: as sent, except that a number from which DuckDB would drop digits becomes text. */
function coerceId(id: unknown): unknown {
  if (!(id instanceof ExactNumber)) return id
  return /^-?\d+$/.test(id.text) || Number.isSafeInteger(Number(id.text)) ? id : id.text
}

/** Coerces one record. Null if it is not an object or has no usable id, so that it can only be quarantined. */
export function coerceRecord(
  type: RecordType,
  element: unknown,
  page: PageOfRecord = { list: '' },
): CoercedRecord | null {
  if (!isObject(element) || !hasId(type, element)) return null
  const found: Findings = { issues: [], drift: [], atMs: page.atMs }
  const record = coerceElement(sentFields(type), element, '', found)
  record[type.id.key] = coerceId(record[type.id.key])
  return { record: { ...record, ...type.computed?.from(element, page) }, issues: found.issues, drift: found.drift }
}
