// A query result with one line per value, for rows that are wider than the terminal.
import { counted } from '../../core/words.ts'
import type { QueryResult } from '../../warehouse/query/results.ts'
import { align, widthOf } from '../terminal/columns.ts'
import { visible } from '../terminal/controls.ts'
import { rowReader } from './table.ts'

/** Yields the rows, a blank line after each, and a closing line with their count. */
export async function* records({ columns, batches, tally }: QueryResult): AsyncGenerator<string> {
  const read = rowReader(columns)
  const names = columns.map(({ name }) => visible(name))
  const width = names.reduce((widest, name) => Math.max(widest, widthOf(name)), 0)
  for await (const batch of batches) {
    for (const row of read(batch))
      yield `${row.map(({ text }, at) => `${align(names[at]!, width, true)} = ${text}\n`).join('')}\n`
  }
  const { rows, truncated } = tally()
  yield `(${counted(rows, 'row')}${truncated ? '; there are more: raise the row limit' : ''})\n`
}
