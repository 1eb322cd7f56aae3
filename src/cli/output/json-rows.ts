// Rows as JSON objects.

import type { Batch, Column } from '../../warehouse/results.ts'
import { jsonWriter } from './json-text.ts'

/** Turns a batch into one line of JSON a row. A name that occurs twice gets a number, since an object has it once. */
export function rowWriter(columns: Column[]): (batch: Batch) => string[] {
  const names = distinct(columns.map(({ name }) => name))
  const fields = columns.map(({ shape }, at) => ({ key: JSON.stringify(names[at]), write: jsonWriter(shape) }))
  return ({ rows, columns }) =>
    Array.from({ length: rows }, (_, row) => {
      return `{${fields.map(({ key, write }, at) => `${key}:${write(columns[at]![row]!)}`).join(',')}}`
    })
}

/** `a, a, a_1` as `a, a_2, a_1`: every name once, and the first of each as it is. */
export function distinct(names: string[]): string[] {
  const taken = new Set(names)
  const given = new Set<string>()
  return names.map(name => {
    let unique = name
    for (let count = 1; given.has(unique); count++) {
      const next = `${name}_${count}`
      if (!taken.has(next)) unique = next
    }
    given.add(unique)
    return unique
  })
}
