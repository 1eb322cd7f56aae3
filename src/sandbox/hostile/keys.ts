// Hostile names of fields, and nesting.
import type { Draw } from '../random.ts'
import type { Piece } from './piece.ts'
import { isObject, setText } from './piece.ts'

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

/** Deep where anything is allowed, and in a field that nobody knows. */
export function deepNesting(piece: Piece, _: Draw, depth: number): void {
  setText(piece, 'capturedVariables', nest(depth, '{"a":', '}'))
  setText(piece, 'futureDepth', nest(depth, '[', ']'))
}

const nest = (depth: number, begin: string, end: string): string => `${begin.repeat(depth)}1${end.repeat(depth)}`
