// Every way in which a record can be hostile; declared here and nowhere else. They strike in this order.
//
// Which conversations are hit follows from the seed and the conversation alone: each time that one is asked for, it is hostile
// in the same way, and what the sandbox says to be the truth is hostile too.
import type { Param } from '../rates.ts'

interface HostileDefinition {
  /** One line, for `--help` and the docs. */
  help: string
  param?: Param
}

const MIB = 1_048_576

const TABLE = {
  'wrong-types': { help: 'four fields, some of them nested, of another type than the document says' },
  'huge-numbers': { help: 'numbers beyond 2^53 and near the end of doubles, and one beyond it (1e400)' },
  'sql-text': { help: 'SQL in texts, in a tag and in the name of a field' },
  'nul-text': { help: 'NUL (\\u0000) in texts and in the name of a field' },
  'lone-surrogates': { help: 'halves of surrogate pairs (\\ud83d) in texts and in the name of a field' },
  'unknown-fields': { help: 'fields that no document lists, at the top and nested, with odd names' },
  'case-keys': { help: 'fields whose names differ from known ones by case only' },
  'duplicate-keys': { help: 'the same field twice, at the top and nested; the last one counts' },
  'deep-nesting': {
    help: 'objects and arrays nested PARAM (500) deep',
    param: { unit: 'count', default: 500, min: 1, max: 2_000 },
  },
  'ts-nonsense': {
    help: '`ts` that is no time: a word, a negative number, an array, …; the order goes by the true one',
  },
  'ts-missing': { help: 'no `ts`; the order goes by the true one' },
  'unicode-id': { help: 'an `ID` beyond ASCII' },
  'odd-id': { help: 'an `ID` with quotes, slashes, spaces, %, &, #, and a line break' },
  'comma-id': { help: 'an `ID` with a comma: it cannot be selected by id' },
  'huge-record': {
    help: 'a record of PARAM bytes (20 MiB)',
    param: { unit: 'bytes', default: 20 * MIB, min: 1, max: 256 * MIB },
  },
  'no-id': { help: '`ID` absent, null or an array; billed, and never part of the truth' },
  'no-object': { help: 'null, a number, a text, … in place of the record; billed, and never part of the truth' },
  'odd-dates': { help: 'dates with names of time zones, offsets of all kinds, numerals, and days that are none' },
  'odd-numerals': { help: 'metrics and scores that are texts: NaN, Infinity, 1e400, 1_000, 0x10, …' },
  'future-modified': { help: '`lastModified` years ahead: 5e13' },
} as const satisfies Record<string, HostileDefinition>

export type HostileName = keyof typeof TABLE

export const HOSTILE: Record<HostileName, HostileDefinition> = TABLE

export const HOSTILE_NAMES = Object.keys(TABLE) as HostileName[]
