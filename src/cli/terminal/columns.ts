// Text in columns: cutting, and column widths that fit the terminal. `grid` is for tables that are not query results.
import stringWidth from 'string-width'
import { visible } from './controls.ts'
import { isTerminal, plain, type Style, styleOf } from './style.ts'

/** Number of cells between two columns. */
export const GAP = 2

/** Text columns are not narrowed below this width; a column that has less space is hidden. */
const NARROWEST = 8

interface Measured {
  /** Terminal cells that the column needs for its widest value and its name. */
  natural: number
  /** True if the column keeps its width: a number cut short is a wrong number. */
  rigid: boolean
}

interface Layout {
  /** Width of each visible column, from the left. */
  widths: number[]
  /** Number of columns at the right that do not fit. */
  hidden: number
}

/** Fits columns into the terminal's width: narrows the widest text columns first. Without a terminal, all keep their width. */
export function layOut(columns: Measured[], terminal: number | undefined): Layout {
  const natural = columns.map(column => column.natural)
  if (terminal === undefined) return { widths: natural, hidden: 0 }
  const shown = howManyFit(columns, terminal)
  const available = terminal - GAP * (shown - 1)
  return { widths: narrow(columns.slice(0, shown), available), hidden: columns.length - shown }
}

function howManyFit(columns: Measured[], terminal: number): number {
  let used = 0
  for (const [at, column] of columns.entries()) {
    used += least(column) + (at > 0 ? GAP : 0)
    if (used > terminal) return Math.max(1, at)
  }
  return columns.length
}

const least = ({ natural, rigid }: Measured) => (rigid ? natural : Math.min(natural, NARROWEST))

/** Narrows text columns to the largest common width with which all columns fit. Narrower columns keep their width. */
function narrow(columns: Measured[], available: number): number[] {
  const under = (bound: number) =>
    columns.map(column => (column.rigid ? column.natural : Math.min(column.natural, Math.max(bound, least(column)))))
  let low = NARROWEST
  let high = Math.max(NARROWEST, ...columns.map(column => column.natural))
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (sum(under(middle)) <= available) low = middle
    else high = middle - 1
  }
  return under(low)
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

const GRAPHEMES = new Intl.Segmenter()

/** Returns the text if it fits, else its beginning and an ellipsis; a grapheme is never split. */
export function cut(text: string, width: number): string {
  // A UTF-16 unit is at most two terminal cells wide, so short text needs no measuring.
  if (text.length * 2 <= width || widthOf(text) <= width) return text
  let kept = ''
  let used = 0
  for (const { segment } of GRAPHEMES.segment(text)) {
    used += widthOf(segment)
    if (used > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** Returns the width in terminal cells, without control characters. Measuring takes 10 µs, so printable ASCII is not measured. */
export function widthOf(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text)
}

export function align(text: string, width: number, right: boolean): string {
  const padding = ' '.repeat(Math.max(0, width - widthOf(text)))
  return right ? padding + text : text + padding
}

interface GridColumn {
  name: string
  /** True to right-align and never cut, for numbers. */
  right?: boolean
  /** True to never cut, for ids. */
  isWhole?: boolean
}

export interface GridOptions {
  /** Width of the terminal; undefined to cut nothing. */
  width?: number | undefined
  style?: Style
}

/** Returns the options for a grid on standard output. */
export const gridOnStdout = (): GridOptions => ({
  width: isTerminal(process.stdout) ? process.stdout.columns : undefined,
  style: styleOf(process.stdout),
})

/** Returns a header line and one line per row. Control characters are escaped. */
export function grid(columns: readonly GridColumn[], rows: readonly string[][], options: GridOptions = {}): string[] {
  const { width, style = plain } = options
  const cells = rows.map(row => row.map(visible))
  const measured = columns.map(({ name, right = false, isWhole = right }, at) => ({
    natural: Math.max(widthOf(name), ...cells.map(row => widthOf(row[at] ?? ''))),
    rigid: isWhole,
  }))
  const { widths } = layOut(measured, width)
  const place = (text: string, at: number) => {
    const { right = false, isWhole = right } = columns[at]!
    return align(isWhole ? text : cut(text, widths[at]!), widths[at]!, right)
  }
  const line = (texts: string[]) => texts.join(' '.repeat(GAP)).trimEnd()
  const header = line(widths.map((_, at) => place(columns[at]!.name, at)))
  return [style('bold', header), ...cells.map(row => line(widths.map((_, at) => place(row[at] ?? '', at))))]
}
