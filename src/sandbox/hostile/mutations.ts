// Mutations that make a record hostile: odd values, field names and nesting.
import type { Draw } from '../world/random.ts'

/** Fields that `wrongTypes` leaves alone: `no-id` and the `ts-` mutations change them. */
const KEPT = new Set(['ID', 'ts'])
const WRONG_FIELDS = 4

export function wrongTypes({ record }: Piece, draw: Draw): void {
  for (let field = 0; field < WRONG_FIELDS; field++) {
    const name = draw.pick(Object.keys(record).filter(key => !KEPT.has(key) && record[key] !== null))
    const value = record[name]
    if (isObject(value) && Object.keys(value).length > 0 && draw.chance(0.7)) {
      const nested = draw.pick(Object.keys(value))
      value[nested] = ofAnotherType(value[nested], draw)
    } else record[name] = ofAnotherType(value, draw)
  }
}

function ofAnotherType(value: unknown, draw: Draw): unknown {
  switch (typeof value) {
    case 'number':
      return draw.pick<unknown>(['about twelve', String(value), '', true, [value], { value }])
    case 'string':
      return draw.pick<unknown>([42, 0.5, false, [value], { text: value }, []])
    case 'boolean':
      return draw.pick<unknown>(['yes', 2, [], { value }])
    default:
      return draw.pick<unknown>(['a text', 7, true, Array.isArray(value) ? { 0: value[0] } : [value]])
  }
}

export function hugeNumbers(piece: Piece): void {
  setText(piece, 'messagesNum', '12345678901234567890')
  setText(piece, 'value', '-1.7976931348623157e308')
  setText(piece, 'leadScore', '0.1000000000000000055511151231257827021181583404541015625')
  setText(piece, 'hotScore', '1e400')
}

export function sqlText({ record }: Piece): void {
  record.userName = "Robert'); DROP TABLE conversations; --"
  record.notes = `" OR 1=1; ATTACH 'stolen.db' AS stolen; /* $$ \\ */ SELECT '`
  record.tags = ["'; DELETE FROM conversations; --", '{{notes}}']
  record["'); DROP SCHEMA main; --"] = 1
}

export function nulText({ record }: Piece): void {
  record.userName = 'before\u0000after'
  record.notes = '\u0000'
  record.tags = ['\u0000', 'a\u0000b']
  record['nul\u0000name'] = 'x'
}

/** `JSON.stringify` escapes a lone surrogate, so the bytes are still UTF-8. */
export function loneSurrogates({ record }: Piece): void {
  record.userName = 'half \ud83d of a face'
  record.notes = '\udc00\ud800'
  record.tags = ['\ud83d']
  record['half\ud83dname'] = 'x'
}

export function hugeRecord({ record }: Piece, _: Draw, bytes: number): void {
  record.notes = 'A long story. '.repeat(Math.ceil(bytes / 14)).slice(0, bytes)
}

const ODD_DATES = [
  '2026-01-15 10:00:00 PST',
  '2026-01-15 10:00:00 EST',
  '2026-01-15T10:00:00 America/New_York',
  '2026-01-15 10:00:00 UTC',
  '2026-01-15 10:00:00',
  '2026-01-15',
  '2026-01-15T10:00:00+05:30',
  '2026-01-15T10:00:00-0800',
  '2026-01-15T10:00+02',
  '2026-02-30',
  '2026',
  '20260115',
  '5',
  '14.30',
  '1_000',
  '1768471200',
  '1768471200123',
] as const

export function oddDates({ record }: Piece, draw: Draw): void {
  const at = () => draw.pick(ODD_DATES)
  record.expectedCloseDate = at()
  record.demoDate = at()
  record.lastActivityDate = at()
  record.assignedToUsers = [{ userId: 'u1', assignedAt: at() }]
  record.crmActivities = [{ id: 'a1', date: at(), dueDate: at(), notesHistory: [{ text: 'x', timestamp: at() }] }]
}

const ODD_NUMERALS = [
  'NaN',
  'nan',
  'Infinity',
  '-inf',
  '1e400',
  '1_000',
  '0x10',
  '1,5',
  ' 7',
  '007',
  '9007199254740993',
  'true',
  '',
  '12',
  '-0.5',
  '1.5e3',
] as const

export function oddNumerals({ record }: Piece): void {
  record.metrics = ODD_NUMERALS.map((value, index) => ({ metricId: `m${index}`, key: 'odd', value }))
  record.funnelScoreHistory = ODD_NUMERALS.map(score => ({ score }))
}

export function unknownFields({ record }: Piece, draw: Draw): void {
  record.futureField = draw.int(1, 1_000)
  record['future.field'] = { nested: [null, { deeper: true }] }
  record['Zukünftiges Feld 🚀'] = 'später'
  record[''] = 'a field without a name'
  record.select = 'a word of SQL'
  for (const value of Object.values(record)) if (isObject(value)) value.futureField = [1, 'two', null]
}

export function caseKeys({ record }: Piece): void {
  record.USERNAME = 'another name'
  record.usernaMe = 3
  record.Notes = null
  record.id = 'not the ID'
  record.TS = 1
  record.tokenusage = { CumulativeUsd: 1 }
}

export function duplicateKeys(piece: Piece): void {
  piece.record.summary = 'the first'
  piece.members.push('"summary":"the last"')
  setText(piece, 'nodesInfo', '{"currentNode":"first","currentNode":"last"}')
  setText(piece, 'csat', '{"satisfaction10":1,"satisfaction10":"one","satisfaction10":9}')
}

/** Puts deeply nested values into a free-form field and into an undocumented one. */
export function deepNesting(piece: Piece, _: Draw, depth: number): void {
  setText(piece, 'capturedVariables', nest(depth, '{"a":', '}'))
  setText(piece, 'futureDepth', nest(depth, '[', ']'))
}

const nest = (depth: number, begin: string, end: string): string => `${begin.repeat(depth)}1${end.repeat(depth)}`

// A record during mutation: JSON values, and members that only JSON text can express.

export interface Piece {
  record: Record<string, unknown>
  /** Members (`"key":value`) as JSON text, appended after the others. */
  members: string[]
}

export function open(text: string): Piece {
  return { record: JSON.parse(text) as Record<string, unknown>, members: [] }
}

export function close({ record, members }: Piece): string {
  const text = JSON.stringify(record)
  if (members.length === 0) return text
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}${members.join(',')}}`
}

/** Sets the field to raw JSON text. */
function setText({ record, members }: Piece, field: string, json: string): void {
  delete record[field]
  members.push(`${JSON.stringify(field)}:${json}`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
