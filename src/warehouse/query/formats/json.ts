// Rows as JSON objects, streamed: one array with a row a line, or NDJSON.

import { type Batch, type Column, type QueryResult, uniqueNames } from '../results.ts'
import { jsonWriter } from './json-text.ts'

/** One JSON array, a piece of text a batch. If the query fails on the way, the array stays open: half an answer is not valid JSON. */
export async function* json(result: QueryResult): AsyncGenerator<string> {
  const write = rowWriter(result.columns)
  let before = '[\n'
  for await (const batch of result.batches) {
    yield before + write(batch).join(',\n')
    before = ',\n'
  }
  yield before === '[\n' ? '[]\n' : '\n]\n'
}

/** One JSON object a line, a piece of text a batch. */
export async function* ndjson(result: QueryResult): AsyncGenerator<string> {
  const write = rowWriter(result.columns)
  for await (const batch of result.batches) {
    const lines = write(batch)
    if (lines.length > 0) yield `${lines.join('\n')}\n`
  }
}

/** Turns a batch into one JSON object a row. A repeated column name gets a number, since an object has each key once. */
function rowWriter(columns: Column[]): (batch: Batch) => string[] {
  const names = uniqueNames(columns.map(({ name }) => name))
  const fields = columns.map(({ shape }, at) => ({ key: JSON.stringify(names[at]), write: jsonWriter(shape) }))
  return ({ rows, columns }) =>
    Array.from({ length: rows }, (_, row) => {
      return `{${fields.map(({ key, write }, at) => `${key}:${write(columns[at]![row]!)}`).join(',')}}`
    })
}
