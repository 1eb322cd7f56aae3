// One JSON array of objects, a row a line, streamed.

import type { QueryResult } from '../results.ts'
import { rowWriter } from './json-rows.ts'

/** One piece of text a batch. Where the query fails on the way, the array is left open: half an answer is not valid. */
export async function* json(result: QueryResult): AsyncGenerator<string> {
  const write = rowWriter(result.columns)
  let before = '[\n'
  for await (const batch of result.batches) {
    yield before + write(batch).join(',\n')
    before = ',\n'
  }
  yield before === '[\n' ? '[]\n' : '\n]\n'
}
