// One JSON object a row and a line.

import type { QueryResult } from '../results.ts'
import { rowWriter } from './json-rows.ts'

/** One piece of text a batch. */
export async function* ndjson(result: QueryResult): AsyncGenerator<string> {
  const write = rowWriter(result.columns)
  for await (const batch of result.batches) {
    const lines = write(batch)
    if (lines.length > 0) yield `${lines.join('\n')}\n`
  }
}
