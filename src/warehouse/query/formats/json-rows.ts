// Rows as JSON objects.

import { uniqueNames } from '../column-names.ts'
import type { Batch, Column } from '../results.ts'
import { jsonWriter } from './json-text.ts'

/** Turns a batch into one line of JSON a row. A name that occurs twice gets a number, since an object has it once. */
export function rowWriter(columns: Column[]): (batch: Batch) => string[] {
  const names = uniqueNames(columns.map(({ name }) => name))
  const fields = columns.map(({ shape }, at) => ({ key: JSON.stringify(names[at]), write: jsonWriter(shape) }))
  return ({ rows, columns }) =>
    Array.from({ length: rows }, (_, row) => {
      return `{${fields.map(({ key, write }, at) => `${key}:${write(columns[at]![row]!)}`).join(',')}}`
    })
}
