// The schema with which DuckDB reads records: the fields of the record type under the API's names, plus the unknown
// paths of the batch. It is explicit, because schema sniffing misses keys that appear late.

import { ELEMENT, subtree, type UnknownTree } from './inspection/unknown-fields.ts'
import { quoteName } from './layout.ts'
import type { Field, Fields, Scalar } from './shape.ts'

const STAGED: Record<Scalar['type'], string> = {
  text: 'VARCHAR',
  // DOUBLE for counts and times too: a BIGINT would silently round 3.7 and accept `true`.
  count: 'DOUBLE',
  number: 'DOUBLE',
  time: 'DOUBLE',
  boolean: 'BOOLEAN',
  moment: 'VARCHAR',
  loose: 'JSON',
  any: 'JSON',
}

/**
 * Key under which a coerced record, or an element of one, carries its own `extra`. It cannot clash with a field of the
 * API: keys that start with `__` get no separate staged column (`isPlainKey`).
 */
export const COERCED_EXTRA = '__extra'

function fieldType(field: Field, unknown: UnknownTree | null): string {
  switch (field.kind) {
    case 'scalar':
      return STAGED[field.type]
    case 'texts':
      return 'VARCHAR[]'
    case 'group':
      return `STRUCT(${members(field.fields, unknown)})`
    case 'objects':
      return `${struct(field.fields, subtree(unknown, ELEMENT))}[]`
  }
}

function members(fields: Fields, unknown: UnknownTree | null): string {
  const declared = Object.entries(fields).map(
    ([key, field]) => `${quoteName(key)} ${fieldType(field, subtree(unknown, key))}`,
  )
  const added = Object.keys(unknown ?? {})
    .filter(key => key !== ELEMENT && !Object.hasOwn(fields, key))
    .map(key => `${quoteName(key)} JSON`)
  return [...declared, ...added].join(', ')
}

function struct(fields: Fields, unknown: UnknownTree | null): string {
  return `STRUCT(${members(fields, unknown)}, ${quoteName(COERCED_EXTRA)} JSON)`
}

/** Returns the DuckDB type of one record: `STRUCT("userEmail" VARCHAR, …)`. */
export const recordStruct = (fields: Fields, unknown: UnknownTree): string => struct(fields, unknown)
