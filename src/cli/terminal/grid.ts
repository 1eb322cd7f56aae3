// Text in columns, for tables that are not query results.
import stringWidth from 'string-width'
import { cut, visible } from '../output/table.ts'
import { GAP, layOut } from '../output/table-layout.ts'
import { plain, type Style } from './style.ts'

export interface GridColumn {
  name: string
  /** Right-aligned and never cut, for numbers. */
  right?: boolean
}

export interface GridOptions {
  /** Width of the terminal; undefined: nothing is cut. */
  width?: number | undefined
  style?: Style
}

/** A header line and one line per row. Control characters are escaped. */
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
