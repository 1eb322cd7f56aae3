// Stores models (`_models`): the columns of their tables, how far they have followed the change log, and how the last attempt ended.

import type { PublishedTable } from '../changes/published-tables.ts'
import type { Writer } from '../connection.ts'
import type { DescribedColumn } from '../dictionary/dictionary.ts'
import type { KeyType } from '../marts/declarations.ts'
import { MODELS_SCHEMA } from './declaration.ts'

/** `invalid`: its file cannot be used. `blocked`: a model that it reads is not built. */
export const MODEL_OUTCOMES = ['built', 'invalid', 'failed', 'timeout', 'blocked'] as const

export type ModelOutcome = (typeof MODEL_OUTCOMES)[number]

export type ModelColumn = Pick<DescribedColumn, 'name' | 'sqlType' | 'pii' | 'about'>

export interface StoredModel {
  name: string
  about: string
  definition: string
  key: readonly string[]
  shared: readonly string[]
  /** Empty if the model has no table yet. */
  columns: readonly ModelColumn[]
  /** Changes whenever the table is created, since targets may have rows of an earlier table whose keys the log lacks. */
  tableId: string | null
  /** Position of its rows in the change log. */
  position: { epoch: string; seq: number } | null
  outcome: ModelOutcome
  error: string | null
  hint: string | null
  rows: number | null
  durationMs: number | null
  /** ISO-8601, UTC. */
  triedAt: string
}

type Row = Omit<StoredModel, 'columns' | 'position'> & { columns: string; epoch: string | null; seq: number | null }

type Reader = { rows: <R>(sql: string) => Promise<R[]> }

const STORED = `SELECT name, about, definition, key, shared, columns, table_id AS "tableId", epoch, seq::DOUBLE AS seq, outcome,
  error, hint, row_count::DOUBLE AS rows, duration_ms::DOUBLE AS "durationMs", strftime(tried_at AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ') AS "triedAt"
  FROM _models ORDER BY name`

/** Returns all models, by name. */
export async function storedModels({ rows }: Reader): Promise<StoredModel[]> {
  return (await rows<Row>(STORED)).map(({ columns, epoch, seq, ...row }) => ({
    ...row,
    columns: JSON.parse(columns) as ModelColumn[],
    position: epoch === null ? null : { epoch, seq: seq! },
  }))
}

/** Returns the models whose last attempt failed. */
export const wrongModels = async (reader: Reader): Promise<StoredModel[]> =>
  (await storedModels(reader)).filter(({ outcome }) => outcome !== 'built')

/** Returns the models that have a table. */
export const builtModels = async (reader: Reader): Promise<StoredModel[]> =>
  (await storedModels(reader)).filter(({ columns }) => columns.length > 0)

/** Replaces what is stored about a model, inside the caller's transaction. */
export async function storeModel(writer: Writer, model: StoredModel): Promise<void> {
  const { name, about, definition, key, shared, columns, tableId, position } = model
  const { outcome, error, hint, rows, durationMs, triedAt } = model
  await writer.run('DELETE FROM _models WHERE name = $name', { name })
  await writer.append('_models', [
    {
      ...{ name, about, definition, key, columns: JSON.stringify(columns), shared, table_id: tableId },
      ...{ epoch: position?.epoch ?? null, seq: position?.seq ?? null, outcome, error, hint, row_count: rows },
      ...{ duration_ms: durationMs, tried_at: triedAt },
    },
  ])
}

export const tableOf = (name: string): string => `${MODELS_SCHEMA}.${name}`

/** Returns the published table of a model, which consumers copy like any other. */
export const publishedModel = ({
  name,
  key,
  columns,
}: Pick<StoredModel, 'name' | 'key' | 'columns'>): PublishedTable => ({
  table: tableOf(name),
  children: [],
  key: key.map(of => ({ name: of, sqlType: columns.find(column => column.name === of)!.sqlType as KeyType })),
  isKeyUnique: true,
  timeColumn: null,
})
