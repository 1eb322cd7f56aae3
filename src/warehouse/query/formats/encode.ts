// Encodes a result in a streamed format. Parquet is not streamed: DuckDB writes it as a file (parquet.ts).

import type { QueryResult } from '../results.ts'
import { cells } from './cells.ts'
import { csv } from './csv.ts'
import { json, ndjson } from './json.ts'

/** Arrow IPC has two forms: a stream for pipes, a file for readers that seek. `cells` is for convohouse's own client. */
export type StreamedFormat = 'csv' | 'csv-excel' | 'json' | 'ndjson' | 'arrow' | 'arrow-file' | 'cells'

/** Yields the answer in that format, piece by piece. Throws a failure of the query between two pieces. */
export async function* encode(result: QueryResult, format: StreamedFormat): AsyncGenerator<string | Uint8Array> {
  if (format === 'csv' || format === 'csv-excel') yield* csv(result, format === 'csv-excel')
  else if (format === 'json') yield* json(result)
  else if (format === 'ndjson') yield* ndjson(result)
  else if (format === 'cells') yield* cells(result)
  // Loaded on demand, because apache-arrow takes a tenth of a second, which every command would wait for.
  else yield* (await import('./arrow.ts')).arrow(result, format === 'arrow-file' ? 'file' : 'stream')
}
