// Snapshot files as a publication leaves them: tables, marts and a watermark, put in place by rename.
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import {
  openSnapshotReaders,
  type ReadersOptions,
  type SnapshotReaders,
} from '../../../src/serve/readers/snapshot-readers.ts'

export const ENTRY = new URL('../../../dist/src/serve/readers/query-process.js', import.meta.url)

export const asOf = (seq: number): string => new Date(Date.UTC(2026, 10, 1) + seq * 60_000).toISOString()

/** Writes a snapshot whose rows all name its sequence, and renames it into place. */
export async function writeSnapshot(file: string, seq: number, { rows = 1_000 } = {}): Promise<void> {
  const next = `${file}.${seq}.next`
  const instance = await DuckDBInstance.create(next, { threads: '1' })
  const connection = await instance.connect()
  for (const statement of [
    `CREATE TABLE _publication AS SELECT 'o' AS owner, 'e' AS epoch, ${seq}::BIGINT AS seq, 'p${seq}' AS publication_id,
       'x' AS policy, '${asOf(seq)}'::TIMESTAMPTZ AS as_of`,
    `CREATE TABLE conversations AS SELECT 'c' || range AS conversation_id, ${seq} AS seq, 'Ann ' || range AS user_name,
       '${asOf(seq)}'::TIMESTAMPTZ AS ts, (range / 10)::DECIMAL(18, 2) AS price FROM range(${rows})`,
    `CREATE TABLE messages AS SELECT 'c1' AS conversation_id, 'a secret word' AS text`,
    'CREATE SCHEMA marts',
    `CREATE TABLE marts.conversations_daily AS SELECT DATE '2026-11-01' AS day, ${rows}::BIGINT AS conversations, ${seq} AS seq`,
    'CHECKPOINT',
  ])
    await connection.run(statement)
  connection.closeSync()
  instance.closeSync()
  await rename(next, file)
}

export const PLAIN_COLUMNS = {
  conversations: ['conversation_id', 'seq', 'ts', 'price'],
  messages: ['conversation_id'],
  'marts.conversations_daily': ['day', 'conversations', 'seq'],
}

export async function openReaders(folder: string, options: Partial<ReadersOptions> = {}): Promise<SnapshotReaders> {
  await mkdir(folder, { recursive: true })
  return openSnapshotReaders({
    ...{ file: join(folder, 'snapshot.duckdb'), folder: join(folder, 'serve'), entry: ENTRY },
    ...{ memoryLimit: '400MB', threads: 1, maxSpill: '50MB', plainColumns: PLAIN_COLUMNS, lookEveryMs: 50 },
    ...options,
  })
}
