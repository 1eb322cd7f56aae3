// Decides which conversations are hostile, and how, from rates, seed and index.
import { type Param, paramOf, type Rate, shareOf } from '../rates.ts'
import { conversationId, indexOfConversation } from '../world/identity.ts'
import { Draw, PURPOSE } from '../world/random.ts'

export interface Hostility {
  /** True if no record is hostile. */
  isNone: boolean
  /** True if the record has no `ID` or is not an object. */
  isNameless(index: number): boolean
  /** Returns the served `ID`; undefined if nameless. */
  idOf(index: number): string | undefined
  /** Returns the index of an `ID`; undefined if no conversation has it. */
  indexOf(id: string): number | undefined
  /** Applies the mutations to a record's JSON text. */
  mutate(index: number, text: string): string
}

/** Share of conversations with each kind of hostile record. */
export type HostileRates = Partial<Record<HostileName, Rate>>

type Mutation = (piece: Piece, draw: Draw, param: number) => void

/** The mutations by name, except those of IDs and `no-object`, which `mutate` itself handles. */
const MUTATIONS: Partial<Record<HostileName, Mutation>> = {
  'wrong-types': wrongTypes,
  'huge-numbers': hugeNumbers,
  'sql-text': sqlText,
  'nul-text': nulText,
  'lone-surrogates': loneSurrogates,
  'unknown-fields': unknownFields,
  'case-keys': caseKeys,
  'duplicate-keys': duplicateKeys,
  'deep-nesting': deepNesting,
  'ts-nonsense': ({ record }, draw) => {
    record.ts = draw.pick<unknown>(['soon', -1, 1e20, true, [], {}])
  },
  'ts-missing': ({ record }) => {
    delete record.ts
  },
  'huge-record': hugeRecord,
  'no-id': ({ record }, draw) => {
    record.ID = draw.pick<unknown>([undefined, null, []])
  },
}

const NO_OBJECTS = ['null', '42', '"a record"', '[]', 'true'] as const

/** Creates the hostility. The rates must be valid; `options.ts` checks them. */
export function createHostility({ seed, hostile }: { seed: number; hostile: HostileRates }): Hostility {
  const names = HOSTILE_NAMES.filter(name => shareOf(hostile[name] ?? 0) > 0)
  /** Returns the draw for the mutation if the conversation is hostile in the way `name`; otherwise undefined. */
  const drawIf = (index: number, name: HostileName): Draw | undefined => {
    const draw = new Draw(seed, index, PURPOSE.hostile + HOSTILE_NAMES.indexOf(name))
    return draw.chance(shareOf(hostile[name] ?? 0)) ? draw : undefined
  }
  /** Returns the conversation's ID as served. If several kinds of hostile IDs apply, the first in the table wins. */
  const named = (index: number): string => {
    const plain = conversationId(seed, index)
    const name = ID_NAMES.find(one => drawIf(index, one) !== undefined)
    return name === undefined ? plain : hostileId(name, plain)
  }
  const isNameless = (index: number) =>
    names.length > 0 && (drawIf(index, 'no-id') !== undefined || drawIf(index, 'no-object') !== undefined)
  const idOf = (index: number) => (isNameless(index) ? undefined : named(index))

  return {
    isNone: names.length === 0,
    isNameless,
    idOf,
    indexOf(id) {
      const index = indexOfConversation(seed, names.length > 0 ? plainId(id) : id)
      return index !== undefined && idOf(index) === id ? index : undefined
    },
    mutate(index, text) {
      if (names.length === 0) return text
      const instead = drawIf(index, 'no-object')
      if (instead !== undefined) return instead.pick(NO_OBJECTS)
      const piece = open(text)
      piece.record.ID = named(index)
      for (const name of names) {
        const draw = drawIf(index, name)
        if (draw !== undefined)
          MUTATIONS[name]?.(piece, draw, paramOf(hostile[name]!) ?? HOSTILE[name].param?.default ?? 0)
      }
      return close(piece)
    },
  }
}

// Hostile IDs wrap the plain one, so that lookups need no table of IDs.

const AROUND = {
  'unicode-id': ['対話-é-🔥-', '-ñandú'],
  'odd-id': [`it's "odd"/\\ %25 & #1?=+;\n`, '/../<b>'],
  'comma-id': ['first,', ',last'],
} as const satisfies Partial<Record<HostileName, readonly [string, string]>>

type IdName = keyof typeof AROUND

const ID_NAMES = Object.keys(AROUND) as IdName[]

function hostileId(name: IdName, id: string): string {
  const [before, after] = AROUND[name]
  return `${before}${id}${after}`
}

/** Returns the plain ID inside a hostile one; any other text is returned unchanged. */
function plainId(text: string): string {
  const around = Object.values(AROUND).find(([before, after]) => text.startsWith(before) && text.endsWith(after))
  return around === undefined ? text : text.slice(around[0].length, text.length - around[1].length)
}

// Every kind of hostile record, and its effect: odd values, field names and nesting.

/** Fields that `wrongTypes` leaves alone: `no-id` and the `ts-` mutations change them. */
const KEPT = new Set(['ID', 'ts'])
const WRONG_FIELDS = 4

function wrongTypes({ record }: Piece, draw: Draw): void {
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

function hugeNumbers(piece: Piece): void {
  setText(piece, 'messagesNum', '12345678901234567890')
  setText(piece, 'value', '-1.7976931348623157e308')
  setText(piece, 'leadScore', '0.1000000000000000055511151231257827021181583404541015625')
  setText(piece, 'hotScore', '1e400')
}

function sqlText({ record }: Piece): void {
  record.userName = "Robert'); DROP TABLE conversations; --"
  record.notes = `" OR 1=1; ATTACH 'stolen.db' AS stolen; /* $$ \\ */ SELECT '`
  record.tags = ["'; DELETE FROM conversations; --", '{{notes}}']
  record["'); DROP SCHEMA main; --"] = 1
}

function nulText({ record }: Piece): void {
  record.userName = 'before\u0000after'
  record.notes = '\u0000'
  record.tags = ['\u0000', 'a\u0000b']
  record['nul\u0000name'] = 'x'
}

/** `JSON.stringify` escapes a lone surrogate, so the bytes are still UTF-8. */
function loneSurrogates({ record }: Piece): void {
  record.userName = 'half \ud83d of a face'
  record.notes = '\udc00\ud800'
  record.tags = ['\ud83d']
  record['half\ud83dname'] = 'x'
}

function hugeRecord({ record }: Piece, _: Draw, bytes: number): void {
  record.notes = 'A long story. '.repeat(Math.ceil(bytes / 14)).slice(0, bytes)
}

function unknownFields({ record }: Piece, draw: Draw): void {
  record.futureField = draw.int(1, 1_000)
  record['future.field'] = { nested: [null, { deeper: true }] }
  record['Zukünftiges Feld 🚀'] = 'später'
  record[''] = 'a field without a name'
  record.select = 'a word of SQL'
  for (const value of Object.values(record)) if (isObject(value)) value.futureField = [1, 'two', null]
}

function caseKeys({ record }: Piece): void {
  record.USERNAME = 'another name'
  record.usernaMe = 3
  record.Notes = null
  record.id = 'not the ID'
  record.TS = 1
  record.tokenusage = { CumulativeUsd: 1 }
}

function duplicateKeys(piece: Piece): void {
  piece.record.summary = 'the first'
  piece.members.push('"summary":"the last"')
  setText(piece, 'nodesInfo', '{"currentNode":"first","currentNode":"last"}')
  setText(piece, 'csat', '{"satisfaction10":1,"satisfaction10":"one","satisfaction10":9}')
}

/** Puts deeply nested values into a free-form field and into an undocumented one. */
function deepNesting(piece: Piece, _: Draw, depth: number): void {
  setText(piece, 'capturedVariables', nest(depth, '{"a":', '}'))
  setText(piece, 'futureDepth', nest(depth, '[', ']'))
}

const nest = (depth: number, begin: string, end: string): string => `${begin.repeat(depth)}1${end.repeat(depth)}`

// A record during mutation: JSON values, and members that only JSON text can express.

interface Piece {
  record: Record<string, unknown>
  /** Members (`"key":value`) as JSON text, appended after the others. */
  members: string[]
}

function open(text: string): Piece {
  return { record: JSON.parse(text) as Record<string, unknown>, members: [] }
}

function close({ record, members }: Piece): string {
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

// Every kind of hostile record, in order of application.
//
// Only seed and index decide which conversations are hostile: a conversation is hostile in the same way in every answer.

interface HostileDefinition {
  /** One line for `--help` and the docs. */
  help: string
  param?: Param
}

const MIB = 1_048_576

const TABLE = {
  'wrong-types': { help: 'four fields, some nested, of another type than documented' },
  'huge-numbers': { help: 'numbers beyond 2^53, near the limit of doubles, and beyond it (1e400)' },
  'sql-text': { help: 'SQL in texts, a tag and a field name' },
  'nul-text': { help: 'NUL (\\u0000) in texts and a field name' },
  'lone-surrogates': { help: 'lone surrogates (\\ud83d) in texts and a field name' },
  'unknown-fields': { help: 'undocumented fields with odd names, top-level and nested' },
  'case-keys': { help: 'fields whose names differ from documented ones only by case' },
  'duplicate-keys': { help: 'duplicate fields, top-level and nested; the last one counts' },
  'deep-nesting': {
    help: 'objects and arrays nested PARAM (500) deep',
    param: { unit: 'count', default: 500, min: 1, max: 2_000 },
  },
  'ts-nonsense': {
    help: 'a `ts` that is not a time: a word, a negative number, an array, …; ordered by the true `ts`',
  },
  'ts-missing': { help: 'no `ts`; ordered by the true one' },
  'unicode-id': { help: 'an `ID` beyond ASCII' },
  'odd-id': { help: 'an `ID` with quotes, slashes, spaces, %, &, #, and a line break' },
  'comma-id': { help: 'an `ID` with a comma: it cannot be selected by id' },
  'huge-record': {
    help: 'a record of PARAM bytes (20 MiB)',
    param: { unit: 'bytes', default: 20 * MIB, min: 1, max: 256 * MIB },
  },
  'no-id': { help: '`ID` absent, null or an array; billed' },
  'no-object': { help: 'null, a number, a text, … instead of the record; billed' },
} as const satisfies Record<string, HostileDefinition>

export type HostileName = keyof typeof TABLE

export const HOSTILE: Record<HostileName, HostileDefinition> = TABLE

export const HOSTILE_NAMES = Object.keys(TABLE) as HostileName[]
