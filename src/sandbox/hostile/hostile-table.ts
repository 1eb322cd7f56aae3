// Every kind of hostile record, in order of application.
//
// Only seed and index decide which conversations are hostile: a conversation is hostile in the same way in every answer, and
// /_sandbox/truth takes that into account.
import type { Param } from '../rates.ts'

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
  'no-id': { help: '`ID` absent, null or an array; billed, but not listed by `/_sandbox/truth`' },
  'no-object': { help: 'null, a number, a text, … instead of the record; billed, but not listed by `/_sandbox/truth`' },
  'odd-dates': { help: 'dates with time zone names, all kinds of offsets, numerals, and invalid days' },
  'odd-numerals': { help: 'metrics and scores as texts: NaN, Infinity, 1e400, 1_000, 0x10, …' },
  'future-modified': { help: '`lastModified` years ahead: 5e13' },
} as const satisfies Record<string, HostileDefinition>

export type HostileName = keyof typeof TABLE

export const HOSTILE: Record<HostileName, HostileDefinition> = TABLE

export const HOSTILE_NAMES = Object.keys(TABLE) as HostileName[]
