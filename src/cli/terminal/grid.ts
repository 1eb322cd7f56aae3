// Text in columns, for what is no answer of DuckDB.
import stringWidth from 'string-width'
import { cut, visible } from '../output/table.ts'
import { GAP, layOut } from '../output/table-layout.ts'
import { plain, type Style } from './style.ts'

export interface GridColumn {
  name: string
  /** Numbers stand right, and are never cut. */
  right?: boolean
}

export interface GridOptions {
  /** Cells of terminal; undefined: nothing is cut. */
  width?: number | undefined
  style?: Style
}

/** Lines of a grid: the header, then a line a row. What a terminal would obey is made visible. */
export function grid(columns: readonly GridColumn[], rows: readonly string[][], options: GridOptions = {}): string[] {
  const { width, style = plain } = options
  const cells = rows.map(row => row.map(visible))
  const measured = columns.map(({ name, right = false }, at) => ({
    natural: Math.max(stringWidth(name), ...cells.map(row => stringWidth(row[at] ?? ''))),
    rigid: right,
  }))
  const { widths } = layOut(measured, width)
  const place = (text: string, at: number) => {
    const shown = columns[at]!.right ? text : cut(text, widths[at]!)
    const padding = ' '.repeat(Math.max(0, widths[at]! - stringWidth(shown)))
    return columns[at]!.right ? padding + shown : shown + padding
  }
  const line = (texts: string[]) => texts.join(' '.repeat(GAP)).trimEnd()
  const header = line(widths.map((_, at) => place(columns[at]!.name, at)))
  return [style('bold', header), ...cells.map(row => line(widths.map((_, at) => place(row[at] ?? '', at))))]
}
