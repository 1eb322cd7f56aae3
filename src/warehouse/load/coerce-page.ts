// The tolerant path of loading: splits a page whose records cannot be staged as landed, and coerces each record to the
// declared types. The batch writes them to temporary files that the same SQL reads.

import { isUtf8 } from 'node:buffer'
import { coerceRecord, type Issue } from '../../catalog/inspection/coerce.ts'
import { isObject, jsonType } from '../../catalog/inspection/inspect.ts'
import { safePath } from '../../catalog/inspection/unknown-fields.ts'
import { envelopeOf } from '../../catalog/resources/resources.ts'
import { type PageOfRecord, type RecordType, sentFields } from '../../catalog/shape.ts'
import { MAX_DEPTH, type ReadExactly, readExactly, TooDeep, writeExactly } from '../../json/exact-json.ts'
import { endOfString, endOfValue, skipSpace } from '../../json/tokens.ts'

export interface CoercedRecordText {
  /** Position in the page, from 1. */
  element: number
  json: string
}

/** An element that cannot be loaded: its position in the page, from 1, and the reason. */
export interface Unreadable {
  element: number
  reason: string
}

/** A page record by record: records that can be staged, elements that cannot be read, and the findings. */
export interface CoercedPage {
  records: CoercedRecordText[]
  unreadable: Unreadable[]
  issues: Issue[]
  drift: { path: string; seen: string }[]
}

const RECORD_PATH = '(record)'

interface RecordText {
  /** Key of the list that contains the record. */
  list: string
  text: string
}

/** Returns the text of each record of a page's body, without a byte order mark, and with U+FFFD in place of bytes that are not UTF-8. */
function recordTexts(record: RecordType, body: Uint8Array): RecordText[] {
  const all = new TextDecoder().decode(body)
  return envelopeOf(record).flatMap(list => elementTexts(all, [list]).map(text => ({ list, text })))
}

/** Returns the bytes of the record at position `element` (from 1) as they landed; undefined if the page has none there. */
export function landedRecord(record: RecordType, body: Uint8Array, element: number): Uint8Array | undefined {
  // One character per byte preserves any bytes.
  const text = Buffer.from(body).toString('latin1')
  const found = elementTexts(text.slice(text.indexOf('{')), envelopeOf(record))[element - 1]
  return found === undefined ? undefined : Buffer.from(found, 'latin1')
}

type Coerced = Pick<CoercedRecordText, 'json'> & Pick<CoercedPage, 'issues' | 'drift'>
type Rejected = { reason: string; issue: Issue }

/** Returns why an id cannot be used, or null. Ids are never coerced: two ids that became equal would be one conversation. */
function idFault(record: RecordType, { value, faults }: ReadExactly, replaced: boolean): string | null {
  const { key } = record.id
  if (faults.some(({ path, fault }) => fault === 'lone surrogate' && path.length === 1 && path[0] === key))
    return `its ${key} contains half of a surrogate pair`
  const id = isObject(value) ? value[key] : undefined
  return replaced && typeof id === 'string' && id.includes('\uFFFD')
    ? `its ${key} contains bytes that are not UTF-8`
    : null
}

const rejected = (reason: string): Rejected => ({
  reason,
  issue: { path: RECORD_PATH, issue: reason, declared: null, seen: 'object' },
})

function rejectedWithoutId(record: RecordType, value: unknown): Rejected {
  const seen = jsonType(value)
  return {
    reason: `${seen} without a usable ${record.id.key}`,
    issue: { path: RECORD_PATH, issue: 'wrong type', declared: `object with ${record.id.key}`, seen },
  }
}

/** Coerces one record. `replaced`: U+FFFD in the text may stand for bytes that are not UTF-8. */
function coerceText(
  record: RecordType,
  { list, text }: RecordText,
  { replaced, ...page }: { replaced: boolean } & Omit<PageOfRecord, 'list'>,
): Coerced | Rejected {
  let read: ReadExactly
  try {
    read = readExactly(text)
  } catch (error) {
    return rejected(error instanceof TooDeep ? `nested deeper than ${MAX_DEPTH} levels` : 'no JSON')
  }
  const fault = idFault(record, read, replaced)
  if (fault !== null) return rejected(fault)
  const coerced = coerceRecord(record, read.value, { list, ...page })
  if (coerced === null) return rejectedWithoutId(record, read.value)
  const { issues, drift } = coerced
  for (const { path, fault } of read.faults) {
    const seen = fault === 'duplicate key' ? 'object' : 'string'
    issues.push({ path: safePath(sentFields(record), path), issue: fault, declared: null, seen })
  }
  if (replaced && text.includes('\uFFFD'))
    issues.push({ path: RECORD_PATH, issue: 'bytes that are no UTF-8', declared: null, seen: 'string' })
  return { json: writeExactly(coerced.record), issues, drift }
}

/**
 * Coerces the records of a page, or those at the positions in `only`. `starredIds` and `atMs` come from the page's head. Never
 * throws because of a record's content.
 */
export function coercePage(
  record: RecordType,
  body: Uint8Array,
  {
    only,
    starredIds,
    atMs,
  }: { only?: ReadonlySet<number>; starredIds?: readonly string[] | undefined; atMs?: number } = {},
): CoercedPage {
  const settings = {
    ...{ replaced: !isUtf8(body), ...(atMs !== undefined && { atMs }) },
    ...(starredIds && { starredIds: new Set(starredIds) }),
  }
  const all: CoercedPage = { records: [], unreadable: [], issues: [], drift: [] }
  for (const [index, text] of recordTexts(record, body).entries()) {
    const element = index + 1
    if (only && !only.has(element)) continue
    const one = coerceText(record, text, settings)
    if ('reason' in one) {
      all.unreadable.push({ element, reason: one.reason })
      all.issues.push(one.issue)
      continue
    }
    all.records.push({ element, json: one.json })
    // Spreading into `push` would fail: a record may have more unknown keys than a call may have arguments.
    for (const issue of one.issues) all.issues.push(issue)
    for (const drift of one.drift) all.drift.push(drift)
  }
  return all
}

/** Calls `each` with the start of every member or element of the container at `at`; `each` returns its end. */
function walk(text: string, at: number, close: string, each: (start: number) => number): void {
  let next = skipSpace(text, at + 1)
  while (text[next] !== close) {
    next = skipSpace(text, each(next))
    if (text[next] === ',') next = skipSpace(text, next + 1)
    else if (text[next] !== close) throw new SyntaxError('a comma or the end is missing')
  }
}

function elements(text: string, at: number): string[] {
  if (text[at] === '{') return [text.slice(at, endOfValue(text, at))]
  const texts: string[] = []
  if (text[at] !== '[') return texts
  walk(text, at, ']', start => {
    const end = endOfValue(text, start)
    texts.push(text.slice(start, end))
    return end
  })
  return texts
}

/**
 * Returns the texts of the elements of the top-level arrays under `keys`, one array after the other. An object counts
 * as one element, any other value as none. Of duplicate keys the last one counts, as for `JSON.parse`.
 * @throws SyntaxError if the body is not a JSON object; the message quotes nothing
 */
export function elementTexts(body: string, keys: readonly string[]): string[] {
  const arrays = new Map<string, string[]>()
  const start = skipSpace(body, 0)
  if (body[start] !== '{') throw new SyntaxError('the body is not an object')
  walk(body, start, '}', at => {
    const end = endOfString(body, at)
    const key = JSON.parse(body.slice(at, end)) as string
    const value = skipSpace(body, skipSpace(body, end) + 1)
    if (keys.includes(key)) arrays.set(key, elements(body, value))
    return endOfValue(body, value)
  })
  return keys.flatMap(key => arrays.get(key) ?? [])
}
