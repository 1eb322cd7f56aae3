// Decides which conversations are hostile, and how, from rates, seed and index.
import { type Param, paramOf, type Rate, shareOf } from '../rates.ts'
import { conversationId, indexOfConversation } from '../world/identity.ts'
import { Draw, PURPOSE } from '../world/random.ts'

export type Hostility = ReturnType<typeof createHostility>

/** Share of conversations with each kind of hostile record. */
export type HostileRates = Partial<Record<HostileName, Rate>>

const NO_OBJECTS = ['null', '42', '"a record"', '[]', 'true'] as const

/** Creates the hostility. The rates must be valid; `options.ts` checks them. */
export function createHostility({ seed, hostile }: { seed: number; hostile: HostileRates }) {
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
  /** True if the record has no `ID` or is not an object. */
  const isNameless = (index: number) =>
    names.length > 0 && (drawIf(index, 'no-id') !== undefined || drawIf(index, 'no-object') !== undefined)
  /** Returns the served `ID`; undefined if nameless. */
  const idOf = (index: number) => (isNameless(index) ? undefined : named(index))

  return {
    /** True if no record is hostile. */
    isNone: names.length === 0,
    isNameless,
    idOf,
    /** Returns the index of an `ID`; undefined if no conversation has it. */
    indexOf(id: string) {
      const index = indexOfConversation(seed, names.length > 0 ? plainId(id) : id)
      return index !== undefined && idOf(index) === id ? index : undefined
    },
    /** Applies the mutations to a record's JSON text. */
    mutate(index: number, text: string) {
      if (names.length === 0) return text
      const instead = drawIf(index, 'no-object')
      if (instead !== undefined) return instead.pick(NO_OBJECTS)
      const record = { ...(JSON.parse(text) as Fields), ID: named(index) }
      for (const name of names) {
        const draw = drawIf(index, name)
        if (draw !== undefined)
          MUTATIONS[name]?.(record, draw, paramOf(hostile[name]!) ?? HOSTILE[name].param?.default ?? 0)
      }
      return JSON.stringify(record)
    },
  }
}

// Hostile IDs wrap the plain one, so that lookups need no table of IDs.

const AROUND = {
  'odd-id': [`対話-é-🔥 it's "odd"/\\ %25 & #1?=+;\n`, '/../<b>'],
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

type Fields = Record<string, unknown>

type Mutation = (record: Fields, draw: Draw, param: number) => void

/** The mutations by name, except those of IDs and `no-object`, which `mutate` itself handles. */
const MUTATIONS: Partial<Record<HostileName, Mutation>> = {
  'wrong-types': wrongTypes,
  'odd-text': oddText,
  'unknown-fields': unknownFields,
  'deep-nesting': (record, _, depth) => {
    record.capturedVariables = nested(depth, inner => ({ a: inner }))
    record.futureDepth = nested(depth, inner => [inner])
  },
  'ts-nonsense': (record, draw) => {
    record.ts = draw.pick<unknown>(['soon', -1, 1e20, true, [], {}])
  },
  'ts-missing': record => {
    delete record.ts
  },
  'huge-record': (record, _, bytes) => {
    record.notes = 'A long story. '.repeat(Math.ceil(bytes / 14)).slice(0, bytes)
  },
  'no-id': (record, draw) => {
    record.ID = draw.pick<unknown>([undefined, null, []])
  },
}

/** Fields that `wrongTypes` leaves alone: `no-id` and the `ts-` mutations change them. */
const KEPT = new Set(['ID', 'ts'])
const WRONG_FIELDS = 4

function wrongTypes(record: Fields, draw: Draw): void {
  for (let field = 0; field < WRONG_FIELDS; field++) {
    const name = draw.pick(Object.keys(record).filter(key => !KEPT.has(key) && record[key] !== null))
    const value = record[name]
    if (isObject(value) && Object.keys(value).length > 0 && draw.chance(0.7)) {
      const inside = draw.pick(Object.keys(value))
      value[inside] = ofAnotherType(value[inside], draw)
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

function oddText(record: Fields): void {
  record.userName = "Robert'); DROP TABLE conversations; --"
  record.notes = `" OR 1=1; ATTACH 'stolen.db' AS stolen; /* $$ \\ */ SELECT '\u0000`
  record.tags = ["'; DELETE FROM conversations; --", '{{notes}}', 'a\u0000b']
  record["'); DROP SCHEMA main; --"] = 1
}

function unknownFields(record: Fields, draw: Draw): void {
  record.futureField = draw.int(1, 1_000)
  record['future.field'] = { nested: [null, { deeper: true }] }
  record['Zukünftiges Feld 🚀'] = 'später'
  record[''] = 'a field without a name'
  record.USERNAME = 'a field that differs from another one by case'
  for (const value of Object.values(record)) if (isObject(value)) value.futureField = [1, 'two', null]
}

function nested(depth: number, around: (inner: unknown) => unknown): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = around(value)
  return value
}

function isObject(value: unknown): value is Fields {
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
  'odd-text': { help: 'SQL and NUL (\\u0000) in texts and tags; SQL as a field name' },
  'unknown-fields': { help: 'undocumented fields with odd names, top-level and nested' },
  'deep-nesting': {
    help: 'objects and arrays nested PARAM (500) deep',
    param: { unit: 'count', default: 500, min: 1, max: 2_000 },
  },
  'ts-nonsense': {
    help: 'a `ts` that is not a time: a word, a negative number, an array, …; ordered by the true `ts`',
  },
  'ts-missing': { help: 'no `ts`; ordered by the true one' },
  'odd-id': { help: 'an `ID` beyond ASCII, with quotes, slashes, spaces, %, &, #, and a line break' },
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
