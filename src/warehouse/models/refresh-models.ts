// Rebuilds the user's models after the marts, each as a whole and in dependency order, if a source has changed since
// its rows were read. A model that cannot be built keeps its previous table, and stops only the models that read it.
import { createHash, randomUUID } from 'node:crypto'
import { quoteName, quoteText } from '../../catalog/layout.ts'
import { diskErrorText } from '../../core/disk.ts'
import { ConvohouseError, type ErrorCode, isCode } from '../../core/errors.ts'
import { HOUR, MINUTE } from '../../core/time.ts'
import { acknowledgeWithin, registerConsumer, removeConsumer } from '../changes/consumers.ts'
import { appendEntries, type LogRange, logChangesOf, logRange } from '../changes/log-changes.ts'
import { PUBLISHED_TABLES } from '../changes/published-tables.ts'
import type { Writer } from '../connection.ts'
import { describedTables } from '../dictionary/dictionary.ts'
import { replaceByKey } from '../marts/mart-tables.ts'
import type { Warehouse } from '../open.ts'
import { type OwnSqlFile, ownSqlFiles } from '../sql-files.ts'
import { type Computed, computed, LIMITS } from './compute.ts'
import { declaredModel, inOrder, modelsReadBy, type PlannedModel, readBy } from './declaration.ts'
import {
  type ModelOutcome,
  publishedModel,
  type StoredModel,
  storedModels,
  storeModel,
  tableOf,
} from './stored-models.ts'

/** Name of the models among the consumers of the change log. */
const MODELS_CONSUMER = 'models'

export interface ModelOptions {
  warehouse: Pick<Warehouse, 'writer' | 'instance'>
  /** The folder of the user's models; null for none. */
  folder: string | null
  now?: () => number
  signal?: AbortSignal
  /** Time limit for one model (default: a minute). */
  timeoutMs?: number
  /** Called when a model begins to be built. */
  onModel?: (name: string) => void
}

interface Plan {
  /** Hash of the files. */
  files: string
  models: readonly PlannedModel[]
}

/** Returns the files of the models. @throws MODEL_INVALID if the folder cannot be read, so that no model is removed */
const modelFiles = (folder: string): Promise<OwnSqlFile[]> =>
  ownSqlFiles(folder).catch(cause => {
    throw new ConvohouseError('MODEL_INVALID', {
      what: `The folder of models ${folder} cannot be read: ${diskErrorText(cause)}`,
      hint: 'Correct `models` in the configuration (or CONVOHOUSE_MODELS). Until then the models keep their rows.',
      cause,
    })
  })

const plans = new WeakMap<Writer, Plan>()

/** Returns the names of tables, views and marts, which models must not have. */
async function takenNames(): Promise<{ taken: Set<string>; marts: Set<string> }> {
  const names = (await describedTables()).map(({ name }) => name)
  const marts = names.filter(name => name.startsWith('marts.'))
  return { taken: new Set(names.map(name => name.replace(/^marts\./, ''))), marts: new Set(marts) }
}

async function planOf({ writer, instance }: ModelOptions['warehouse'], files: readonly OwnSqlFile[]): Promise<Plan> {
  const hash = createHash('sha256').update(JSON.stringify(files)).digest('hex')
  const known = plans.get(writer)
  if (known?.files === hash) return known
  const { taken, marts } = await takenNames()
  const connection = await instance.connect()
  try {
    const planned: PlannedModel[] = []
    for (const { problem, ...file } of files) {
      const model = { ...declaredModel(file, taken), ...(problem && { problem }) }
      const names = model.problem === undefined ? await readBy(connection, model.sql) : []
      // Any other name is that of a CTE, or unknown, which DuckDB will report.
      planned.push({ ...model, dependsOn: names.filter(read => read.includes('.') || taken.has(read)) })
    }
    const plan = { files: hash, models: inOrder(planned, marts) }
    plans.set(writer, plan)
    return plan
  } finally {
    connection.closeSync()
  }
}

/** Returns the newest log entry of each table. Entries of a record also cover its child tables. */
async function newestEntries(writer: Writer): Promise<Map<string, number>> {
  const rows = await writer.rows<{ name: string; seq: string }>(
    'SELECT table_name AS name, max(seq)::VARCHAR AS seq FROM _changes GROUP BY ALL',
  )
  return new Map(rows.map(({ name, seq }) => [name, Number(seq)]))
}

/** Returns the table whose log entries show changes of `table`; undefined for bookkeeping, which is not logged. */
const followedBy = (table: string): string | undefined =>
  /^(marts|models)\./.test(table)
    ? table
    : PUBLISHED_TABLES.find(one => one.table === table || one.children.includes(table))?.table

/** A model that took too long is tried again after this time, or when its file changes: each try takes its whole time. */
const RETRY_MS = HOUR

/** True for a model that has changed or failed, or whose sources have changed since its rows were read. */
async function isDue(writer: Writer, { model, before, nowMs }: Attempt): Promise<boolean> {
  if (before === undefined || before.definition !== model.definition) return true
  if (before.outcome === 'timeout') return Math.abs(nowMs - Date.parse(before.triedAt)) >= RETRY_MS
  if (before.outcome !== 'built' || before.position === null) return true
  const [range, newest] = [await logRange(writer), await newestEntries(writer)]
  const { epoch, seq } = before.position
  if (epoch !== range.epoch || seq < range.trimmedTo || seq > range.seq) return true
  return model.dependsOn.some(table => {
    const followed = followedBy(table)
    return followed === undefined || (newest.get(followed) ?? 0) > seq
  })
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * Replaces the entries of a table by one without a key. It tells readers of the model that it has changed, and keeps
 * numbers that consumers have read from being used again. Keys of an earlier table may have another type.
 */
async function forgetEntries(writer: Writer, table: string): Promise<void> {
  await appendEntries(
    writer,
    `SELECT ${quoteText(table)} AS table_name, []::VARCHAR[] AS key, NULL::DATE AS partition_before, 'update' AS op`,
  )
  await writer.run('DELETE FROM _changes WHERE table_name = $table AND len(key) > 0', { table })
}

/** Creates the table, or replaces the rows that differ, inside the caller's transaction. @returns the identity of the table */
async function replaceRows(
  writer: Writer,
  { model, before }: Attempt,
  { table: fresh, columns }: Computed,
): Promise<string | null> {
  const table = tableOf(model.name)
  const published = publishedModel({ ...model, columns })
  const shape = (of: StoredModel['columns']) => of.map(({ name, sqlType }) => [name, sqlType])
  if (before && isSame([shape(before.columns), before.key], [shape(columns), model.key])) {
    await replaceByKey(writer, { published, fresh, changed: 'changed_model' })
    return before.tableId
  }
  await writer.run(`CREATE OR REPLACE TABLE ${table} AS FROM ${fresh}`)
  // The identity is part of the published policy, so targets are written from empty.
  await forgetEntries(writer, table)
  const keys = model.key.map(quoteName).join(', ')
  await logChangesOf(writer, published, { keys: `SELECT ${keys} FROM ${fresh}`, areNew: true })
  return randomUUID()
}

const OUTCOMES: Partial<Record<ErrorCode, ModelOutcome>> = {
  MODEL_INVALID: 'invalid',
  MODEL_BLOCKED: 'blocked',
  QUERY_TIMEOUT: 'timeout',
}

interface Attempt {
  model: PlannedModel
  before: StoredModel | undefined
  nowMs: number
}

/** Returns the row of a failed attempt, which keeps the table and its position. */
function failedAttempt(
  { model, before, nowMs }: Attempt,
  error: Pick<ConvohouseError, 'code' | 'message' | 'hint'>,
): StoredModel {
  return {
    ...{ name: model.name, about: before?.about ?? model.about, definition: model.definition },
    ...{ key: before?.key ?? model.key, shared: before?.shared ?? model.shared, columns: before?.columns ?? [] },
    ...{ tableId: before?.tableId ?? null, position: before?.position ?? null },
    ...{ rows: before?.rows ?? null, durationMs: before?.durationMs ?? null },
    ...{ outcome: OUTCOMES[error.code] ?? 'failed', error: error.message, hint: error.hint ?? null },
    triedAt: new Date(nowMs).toISOString(),
  }
}

async function build({ warehouse, signal, timeoutMs }: Options, attempt: Attempt): Promise<StoredModel> {
  const { model, nowMs } = attempt
  const { writer } = warehouse
  const begunMs = performance.now()
  return computed(warehouse.instance, { model, timeoutMs, signal }, async found => {
    const { name, about, definition, key, shared } = model
    return writer.transaction(async () => {
      const tableId = await replaceRows(writer, attempt, found)
      const stored: StoredModel = {
        ...{ name, about, definition, key, shared, columns: found.columns, tableId },
        ...{ position: found.position, rows: found.rows },
        ...{ outcome: 'built', error: null, hint: null, durationMs: Math.round(performance.now() - begunMs) },
        triedAt: new Date(nowMs).toISOString(),
      }
      await storeModel(writer, stored)
      return stored
    })
  })
}

/** Drops the tables of models whose files are gone. Targets are then written from empty, without them. */
async function dropRemoved(writer: Writer, removed: readonly StoredModel[]): Promise<void> {
  if (removed.length === 0) return
  await writer.transaction(async () => {
    for (const { name } of removed) {
      await writer.run(`DROP TABLE IF EXISTS ${tableOf(name)}`)
      await forgetEntries(writer, tableOf(name))
      await writer.run('DELETE FROM _models WHERE name = $name', { name })
    }
  })
}

type ModelError = Pick<ConvohouseError, 'code' | 'message' | 'hint'>

/** Returns the error that stops a model before anything is computed; null if there is none. */
function obstacle(model: PlannedModel, results: ReadonlyMap<string, StoredModel>): ModelError | null {
  if (model.problem !== undefined) return { code: 'MODEL_INVALID', message: model.problem, hint: 'Correct the file.' }
  const other = modelsReadBy(model).find(name => results.get(name)?.outcome !== 'built')
  if (other === undefined) return null
  return {
    code: 'MODEL_BLOCKED',
    message: `it reads ${tableOf(other)}, which is not built`,
    hint: `Correct ${other}.sql.`,
  }
}

/** Builds a model, or stores why it cannot be built. @throws INTERRUPTED, and errors that the model does not cause */
async function attempted(options: Options, attempt: Attempt, stopped: ModelError | null): Promise<StoredModel> {
  const { writer } = options.warehouse
  let error = stopped
  if (error === null) {
    const built = await build(options, attempt).catch(cause => {
      if (!isCode(cause, 'MODEL_INVALID', 'MODEL_FAILED', ...LIMITS)) throw cause
      error = cause
    })
    if (built) return built
  }
  const failed = failedAttempt(attempt, error!)
  await writer.transaction(() => storeModel(writer, failed))
  return failed
}

type Options = Required<ModelOptions>

async function refresh(options: Options): Promise<StoredModel[]> {
  const { warehouse, folder, now, signal } = options
  const { writer } = warehouse
  const stored = new Map((await storedModels(writer)).map(model => [model.name, model]))
  if (folder === null && stored.size === 0) return []
  const { models } = await planOf(warehouse, folder === null ? [] : await modelFiles(folder))
  const removed = [...stored.values()].filter(({ name }) => models.every(model => model.name !== name))
  await dropRemoved(writer, removed)
  if (models.length === 0) {
    if (stored.size > 0) await removeConsumer(writer, MODELS_CONSUMER)
    return []
  }
  if (stored.size === 0) await registerConsumer(writer, MODELS_CONSUMER)
  const begun = await logRange(writer)
  const results = new Map<string, StoredModel>()
  for (const model of models) {
    if (signal.aborted) return [...results.values()]
    const before = stored.get(model.name)
    const stopped = obstacle(model, results)
    const attempt = { model, before, nowMs: now() }
    const isSkipped = before && !stopped && !(await isDue(writer, attempt))
    if (!isSkipped) options.onModel(model.name)
    results.set(model.name, isSkipped ? before : await attempted(options, attempt, stopped))
  }
  await follow(writer, begun, [...results.values()])
  return [...results.values()]
}

/** Records that built models have followed the log to `begun`, where the refresh began, so that the log can be trimmed. */
async function follow(writer: Writer, { epoch, seq }: LogRange, results: readonly StoredModel[]): Promise<void> {
  const isBehind = ({ outcome, position }: StoredModel) => outcome === 'built' && (position?.seq ?? seq) < seq
  if (!results.some(isBehind)) return
  await writer.transaction(async () => {
    await writer.run(`UPDATE _models SET seq = $seq WHERE outcome = 'built' AND epoch = $epoch AND seq < $seq`, {
      epoch,
      seq,
    })
    await acknowledgeWithin(writer, MODELS_CONSUMER, { epoch, seq })
  })
}

const running = new WeakMap<Writer, Promise<unknown>>()

/** Runs `work` when no refresh of models runs. */
export function inTurn<T>(writer: Writer, work: () => Promise<T>): Promise<T> {
  const turn = (running.get(writer) ?? Promise.resolve()).then(work)
  const ended = turn.catch(() => {})
  running.set(writer, ended)
  return turn
}

/** Like `refreshModels`, within the caller's turn. */
export const refreshModelsWithin = (options: ModelOptions): Promise<StoredModel[]> =>
  refresh({ now: Date.now, signal: new AbortController().signal, timeoutMs: MINUTE, onModel: () => {}, ...options })

/**
 * Refreshes the models. One refresh runs at a time. Errors of single models are part of the result.
 * @returns all models
 * @throws MODEL_INVALID if the folder cannot be read; HOME_UNUSABLE
 */
export const refreshModels = (options: ModelOptions): Promise<StoredModel[]> =>
  inTurn(options.warehouse.writer, () => refreshModelsWithin(options))
