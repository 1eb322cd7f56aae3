// Where DuckDB's error lies in the SQL.

export interface Place {
  /** From 1. */
  line: number
  /** From 0. */
  column: number
  message: string
}

const MARK = /(?:^|\n)(LINE (\d+): )(.*)\n( *)\^/
const CUT = '...'

/** Returns the place that an error shows: `LINE 2: …`, and a caret below. Of a long line it shows a piece between dots. */
export function placeOf(what: string, sql: string): Place | null {
  const [, head = '', line = '', shown = '', indent = ''] = MARK.exec(what) ?? []
  if (line === '') return null
  const isCut = shown.startsWith(CUT)
  const piece = shown.slice(isCut ? CUT.length : 0).replace(/\.{3}$/, '')
  const at = isCut ? (sql.split('\n')[Number(line) - 1] ?? '').indexOf(piece) : 0
  const column = at + indent.length - head.length - (isCut ? CUT.length : 0)
  return at < 0 || column < 0 ? null : { line: Number(line), column, message: what.split('\n')[0]! }
}
