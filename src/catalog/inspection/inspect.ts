// Inspects a parsed page before it lands, while the CPU would otherwise wait for the network: notes undeclared paths
// and values of a wrong type. Inspection never rejects a page.
import { readTime } from '../../core/time.ts'
import { ExactNumber, MAX_DEPTH } from '../../json/exact-json.ts'
import { type Field, type Fields, type RecordType, type Scalar, sentFields } from '../shape.ts'
import { ELEMENT, isPlainKey } from './unknown-fields.ts'
import { isCount, isExact, mayHoldUnread, numberIn, type UnreadValue, unreadValues } from './unread-values.ts'

export interface PageNotes {
  /** Undeclared paths: the number of occurrences, and the JSON type of the first one. */
  unknown: Record<string, { count: number; seen: string }>
  /** Values of a wrong type, which require the tolerant path. */
  mismatched: Record<string, { count: number; declared: string; seen: string }>
  /** Values that are staged unchanged, and are NULL in a column for a time or a count. */
  unread: (UnreadValue & { count: number })[]
  /** Raw paths of keys that cannot be columns of the stage, which require the tolerant path. Not safe to show. */
  awkward: string[]
  /** Secrets that were removed before the page landed, by path. */
  removed?: Readonly<Record<string, number>>
}

/** Maximum number of a page's undeclared paths that become columns of the stage. A page with more takes the tolerant path. */
const MAX_UNKNOWN_PATHS = 200

export const jsonType = (value: unknown): string => {
  if (value === null) return 'null'
  if (value instanceof ExactNumber) return 'number'
  return Array.isArray(value) ? 'array' : typeof value
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)

export const isScalar = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || value instanceof ExactNumber

/** True if DuckDB's cast to the declared type loses nothing. */
function scalarFits(type: Scalar['type'], value: unknown): boolean {
  switch (type) {
    case 'text':
      return isScalar(value)
    case 'moment':
      return isScalar(value) && typeof value !== 'boolean'
    case 'boolean':
      return typeof value === 'boolean'
    case 'count':
      return isExact(value) && isCount(numberIn(value))
    case 'number':
      return isExact(value)
    case 'time':
      return isExact(value) && !('reason' in readTime(numberIn(value)) && numberIn(value) !== 0)
    default:
      return true
  }
}

/** True if a value may be staged as the field declares it; null and missing values are both NULL. */
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

/** Notes while a page is inspected, and when the vendor sent it. */
type Noted = PageNotes & { atMs?: number | undefined }

type Walk = (object: Record<string, unknown>, notes: Noted) => void

export const declaredAs = (field: Field): string =>
  field.kind === 'scalar' ? field.type : field.kind === 'group' ? 'object' : `array of ${field.kind}`

function noteMismatch(notes: PageNotes, path: string, field: Field, value: unknown): void {
  notes.mismatched[path] ??= { count: 0, declared: declaredAs(field), seen: jsonType(value) }
  notes.mismatched[path].count += 1
}

function noteUnread(notes: PageNotes, unread: UnreadValue): void {
  const known = notes.unread.find(({ path, issue }) => path === unread.path && issue === unread.issue)
  if (known) known.count += 1
  else notes.unread.push({ ...unread, count: 1 })
}

function noteAwkward(notes: PageNotes, path: string): void {
  if (notes.awkward.length < MAX_UNKNOWN_PATHS && !notes.awkward.includes(path)) notes.awkward.push(path)
}

/** True if a value is nested more deeply than DuckDB may safely parse. */
function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some(element => isTooDeep(element, levels - 1))
  for (const key in value) if (isTooDeep((value as Record<string, unknown>)[key], levels - 1)) return true
  return false
}

function noteUnknown(notes: PageNotes, path: string, key: string, value: unknown, taken: ReadonlySet<string>): void {
  if (value === null) return
  if (isTooDeep(value)) noteAwkward(notes, path)
  const known = notes.unknown[path]
  if (known) {
    known.count += 1
    return
  }
  const paths = Object.keys(notes.unknown)
  const full = paths.length >= MAX_UNKNOWN_PATHS
  if (full || !isPlainKey(key) || taken.has(key.toLowerCase()) || clashes(paths, path)) noteAwkward(notes, path)
  else notes.unknown[path] = { count: 1, seen: jsonType(value) }
}

const clashes = (paths: readonly string[], path: string): boolean => {
  const lower = path.toLowerCase()
  return paths.some(other => other !== path && other.toLowerCase() === lower)
}

/** Compiles the check of one field, which is called only with values that are neither null nor missing. */
function compileField(field: Field, path: string): (value: unknown, notes: Noted) => void {
  if (field.kind === 'scalar') {
    const { type } = field
    const mayBeUnread = mayHoldUnread(field)
    if (type === 'any' || type === 'loose') {
      return (value, notes) => {
        if (isTooDeep(value)) noteAwkward(notes, path)
        if (mayBeUnread) for (const unread of unreadValues(field, value, path, notes.atMs)) noteUnread(notes, unread)
      }
    }
    return (value, notes) => {
      if (!scalarFits(type, value)) noteMismatch(notes, path, field, value)
      else if (mayBeUnread) for (const unread of unreadValues(field, value, path, notes.atMs)) noteUnread(notes, unread)
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

/** `atMs`: when the vendor sent the page. */
type Inspect = (records: readonly unknown[], atMs?: number) => PageNotes

// Returns an object without prototype, since a key of the record may be called `constructor`.
const bare = <T>(): Record<string, T> => Object.create(null) as Record<string, T>

export const emptyNotes = (): PageNotes => ({
  unknown: bare(),
  mismatched: bare(),
  unread: [],
  awkward: [],
})

/** Compiles the inspection of a record type's pages. */
export function compileInspection(record: RecordType): Inspect {
  const walk = compile(sentFields(record), '')
  return (records, atMs) => {
    const notes: Noted = { ...emptyNotes(), atMs }
    for (const element of records) {
      if (!isObject(element) || !hasId(record, element)) {
        notes.mismatched[''] ??= { count: 0, declared: `object with ${record.id.key}`, seen: jsonType(element) }
        notes.mismatched[''].count += 1
      } else {
        // A parsed id beyond 2^53 has lost digits; the tolerant path reads them from the text.
        const id = element[record.id.key]
        if (typeof id === 'number' && !Number.isSafeInteger(id)) noteAwkward(notes, record.id.key)
        walk(element, notes)
      }
    }
    delete notes.atMs
    return notes
  }
}

/** True if the record has a usable id. Without one it cannot be stored under any key. */
export function hasId(record: RecordType, element: Record<string, unknown>): boolean {
  const id = element[record.id.key]
  return (typeof id === 'string' && id !== '') || typeof id === 'number' || id instanceof ExactNumber
}

/** True if a page's records cannot be staged as landed. */
export const needsCoercion = (notes: PageNotes): boolean =>
  notes.awkward.length > 0 || Object.keys(notes.mismatched).length > 0

/** Entry in `awkward` for a page whose envelope is nested too deeply; no path of a record is spelled like this. */
export const TOO_DEEP_AROUND = '(nesting around the records)'

/**
 * True if the envelope of a body, apart from its list of records, is nested too deeply. DuckDB parses the envelope too, and deep nesting
 * crashes the process. With 8 MB of stack the limit is 10,000 to 20,000 levels of objects, or 50,000 to 100,000 levels of lists.
 */
export const isTooDeepAround = (body: unknown, list: string): boolean =>
  isObject(body) && Object.entries(body).some(([key, value]) => key !== list && isTooDeep(value))
