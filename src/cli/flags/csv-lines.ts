// Splits a small CSV file that a user has written into cells.

export interface CsvLine {
  /** Number of the line in the file, from 1. */
  line: number
  cells: string[]
}

/** Matches a cell, quoted or not, and its separator. */
const CELL = /\s*(?:"((?:[^"]|"")*)"|([^",;\t]*))\s*(,|$)/y

function cellsOf(content: string): string[] | null {
  const cells: string[] = []
  for (CELL.lastIndex = 0; ; ) {
    const [, quoted, plain, end] = CELL.exec(content) ?? []
    if (end === undefined) return null
    cells.push(quoted?.replaceAll('""', '"') ?? plain!.trim())
    if (end === '') return cells
  }
}

/**
 * Returns the lines of a file, without blank ones and those that begin with #. A byte order mark is ignored.
 * @throws the error of `unusable` for other separators than commas, and for quotes that do not enclose a whole cell on one line
 */
export const csvLines = (content: string, unusable: (line: number) => Error): CsvLine[] =>
  content
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((text, index) => ({ line: index + 1, text }))
    .filter(({ text }) => /^\s*[^\s#]/.test(text))
    .map(({ line, text }) => {
      const cells = cellsOf(text)
      if (cells === null) throw unusable(line)
      return { line, cells }
    })
