// The tolerant path: a record that cannot be staged as it is, taken apart field by field. Casts that lose nothing are
// taken, any other value goes to `extra` as it came, and nothing of the record is lost (notes on the API, "Shapes").
import { fits, hasId, jsonType } from './inspect.ts'
import type { Field, Fields, RecordType } from './shape.ts'
import { MENDED_EXTRA } from './staging.ts'

export interface MendedRecord {
  /** The record in declared types only, with what did not fit under `__extra`, of the record or of a list's element. */
  record: Record<string, unknown>
  issues: { path: string; seen: string }[]
}

type Json = Record<string, unknown>

/** Casts that lose nothing, beyond those that DuckDB takes by itself. */
function cast(field: Field, value: unknown): unknown {
  if (field.kind !== 'scalar' || typeof value !== 'string') return undefined
  const trimmed = value.trim()
  if (field.type === 'boolean' && /^(true|false)$/i.test(trimmed)) return trimmed.toLowerCase() === 'true'
  if ((field.type === 'number' || field.type === 'time') && trimmed !== value && fits(field, trimmed)) return trimmed
  return undefined
}

function mendField(
  field: Field,
  value: unknown,
  path: string,
  issues: MendedRecord['issues'],
): { kept: unknown; spare: unknown } {
  if (!fits(field, value)) {
    const taken = cast(field, value)
    if (taken !== undefined) return { kept: taken, spare: undefined }
    issues.push({ path, seen: jsonType(value) })
    return { kept: null, spare: value }
  }
  if (value === null || value === undefined || field.kind === 'scalar' || field.kind === 'texts')
    return { kept: value, spare: undefined }
  if (field.kind === 'group') return mendObject(field.fields, value as Json, `${path}.`, issues)
  const elements = (value as (Json | null)[]).map(
    element => element && mendWhole(field.fields, element, `${path}[].`, issues),
  )
  return { kept: elements, spare: undefined }
}

function mendObject(
  fields: Fields,
  object: Json,
  prefix: string,
  issues: MendedRecord['issues'],
): { kept: Json; spare: Json | undefined } {
  const kept: Json = {}
  const spare: Json = {}
  for (const [key, value] of Object.entries(object)) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined
    const mended = field
      ? mendField(field, value, prefix + key, issues)
      : { kept: undefined, spare: value ?? undefined }
    if (mended.kept !== undefined) kept[key] = mended.kept
    if (mended.spare !== undefined) Object.defineProperty(spare, key, { value: mended.spare, enumerable: true })
  }
  return { kept, spare: Object.keys(spare).length > 0 ? spare : undefined }
}

/** A record, or an element of a list, with its own spare values under `__extra`: each row has its own `extra`. */
function mendWhole(fields: Fields, object: Json, prefix: string, issues: MendedRecord['issues']): Json {
  const { kept, spare } = mendObject(fields, object, prefix, issues)
  return { ...kept, ...(spare && { [MENDED_EXTRA]: spare }) }
}

/** Mends one record; null where it has no usable id or is no object, and so can only be quarantined. */
export function mendRecord(type: RecordType, element: unknown): MendedRecord | null {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) return null
  if (!hasId(type, element as Json)) return null
  const issues: MendedRecord['issues'] = []
  return { record: mendWhole(type.fields, element as Json, '', issues), issues }
}
