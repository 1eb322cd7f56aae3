// Inspection: one walk over a parsed page on its way in, where the CPU waits for the network anyway. It notes paths that
// the catalog does not declare and values of another type than declared. It never fails a page.
import { readTime } from '../core/time.ts'
import type { Field, Fields, RecordType, Scalar } from './shape.ts'
import { ELEMENT, isPlainKey } from './unknown.ts'

export interface PageNotes {
  /** Undeclared paths: how often, and the JSON type first seen there. */
  unknown: Record<string, { count: number; seen: string }>
  /** Values of a wrong type: the file must take the tolerant path. */
  mismatched: Record<string, { count: number; declared: string; seen: string }>
  /** Times that are 0, "never" in the vendor's hand: NULL in the warehouse. */
  zeroTimes: Record<string, number>
  /** Paths whose key cannot be a column of the stage: the file must take the tolerant path. */
  awkward: string[]
}

/** Undeclared paths that one page may bring into a schema; beyond it, keys are data, and take the tolerant path. */
const MAX_UNKNOWN_PATHS = 200

export const jsonType = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

const NUMERIC = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null

/** True where DuckDB's cast to the declared type loses nothing. */
function scalarFits(type: Scalar['type'], value: unknown): boolean {
  switch (type) {
    case 'text':
      return isScalar(value)
    case 'moment':
      return typeof value === 'string' || typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    case 'number':
      return Number.isFinite(typeof value === 'string' && NUMERIC.test(value) ? Number(value) : value)
    case 'time':
      return scalarFits('number', value) && !('reason' in readTime(Number(value)) && Number(value) !== 0)
    default:
      return true
  }
}

/** True where a value may be staged as the field declares it; null and absent are both NULL. */
export function fits(field: Field, value: unknown): boolean {
  if (value === null || value === undefined) return true
  switch (field.kind) {
    case 'scalar':
      return scalarFits(field.type, value)
    case 'group':
      return isObject(value)
    case 'texts':
      return Array.isArray(value) && value.every(isScalar)
    case 'objects':
      return Array.isArray(value) && value.every(element => element === null || isObject(element))
  }
}

type Walk = (object: Record<string, unknown>, notes: PageNotes) => void

const declaredAs = (field: Field): string =>
  field.kind === 'scalar' ? field.type : field.kind === 'group' ? 'object' : `array of ${field.kind}`

function noteMismatch(notes: PageNotes, path: string, field: Field, value: unknown): void {
  notes.mismatched[path] ??= { count: 0, declared: declaredAs(field), seen: jsonType(value) }
  notes.mismatched[path].count += 1
}

function noteUnknown(notes: PageNotes, path: string, key: string, value: unknown, taken: ReadonlySet<string>): void {
  const known = notes.unknown[path]
  if (known) {
    known.count += 1
    return
  }
  if (value === null) return
  const clash =
    taken.has(key.toLowerCase()) ||
    Object.keys(notes.unknown).some(p => p !== path && p.toLowerCase() === path.toLowerCase())
  if (!isPlainKey(key) || clash || Object.keys(notes.unknown).length >= MAX_UNKNOWN_PATHS) {
    if (notes.awkward.length < MAX_UNKNOWN_PATHS && !notes.awkward.includes(path)) notes.awkward.push(path)
    return
  }
  notes.unknown[path] = { count: 1, seen: jsonType(value) }
}

/** Compiles the checks of one field: called with a value that is neither null nor absent. */
function compileField(field: Field, path: string): (value: unknown, notes: PageNotes) => void {
  if (field.kind === 'scalar') {
    const { type } = field
    if (type === 'any' || type === 'loose') return () => {}
    return (value, notes) => {
      if (!scalarFits(type, value)) noteMismatch(notes, path, field, value)
      else if (type === 'time' && Number(value) === 0) notes.zeroTimes[path] = (notes.zeroTimes[path] ?? 0) + 1
    }
  }
  if (field.kind === 'texts') {
    return (value, notes) => {
      if (!fits(field, value)) noteMismatch(notes, path, field, value)
    }
  }
  const inner = compile(field.fields, field.kind === 'group' ? `${path}.` : `${path}${ELEMENT}.`)
  return (value, notes) => {
    if (!fits(field, value)) noteMismatch(notes, path, field, value)
    else if (field.kind === 'group') inner(value as Record<string, unknown>, notes)
    else
      for (const element of value as unknown[]) if (element !== null) inner(element as Record<string, unknown>, notes)
  }
}

function compile(fields: Fields, prefix: string): Walk {
  const checks = new Map(Object.entries(fields).map(([key, field]) => [key, compileField(field, prefix + key)]))
  const taken = new Set([...checks.keys()].map(key => key.toLowerCase()))
  return (object, notes) => {
    for (const key in object) {
      const value = object[key]
      const check = checks.get(key)
      if (check === undefined) noteUnknown(notes, prefix + key, key, value, taken)
      else if (value !== null) check(value, notes)
    }
  }
}

export type Inspect = (records: readonly unknown[]) => PageNotes

// No prototype: a key of the record may be called `constructor`.
const bare = <T>(): Record<string, T> => Object.create(null) as Record<string, T>

export const emptyNotes = (): PageNotes => ({ unknown: bare(), mismatched: bare(), zeroTimes: bare(), awkward: [] })

/** Compiles the inspection of a record type's pages. */
export function compileInspection(record: RecordType): Inspect {
  const walk = compile(record.fields, '')
  return records => {
    const notes = emptyNotes()
    for (const element of records) {
      if (!isObject(element) || !hasId(record, element)) {
        notes.mismatched[''] ??= { count: 0, declared: `object with ${record.id.key}`, seen: jsonType(element) }
        notes.mismatched[''].count += 1
      } else walk(element, notes)
    }
    return notes
  }
}

/** A record without its id cannot be kept under any key. */
export function hasId(record: RecordType, element: Record<string, unknown>): boolean {
  const id = element[record.id.key]
  return (typeof id === 'string' && id !== '') || typeof id === 'number'
}

/** True where a page's records cannot be staged as they are. */
export const needsMending = (notes: PageNotes): boolean =>
  notes.awkward.length > 0 || Object.keys(notes.mismatched).length > 0
