// Brings the user's models up to date after the marts: those whose sources have changed since their rows were read are computed as a whole, in
// dependency order, and rows that differ are replaced and logged like those of marts. A model that cannot be built keeps its rows, and stops only
// the models that read it.
//
//   files ─▶ plan (kept while no file changes) ─▶ removed models are dropped ─▶ for each: blocked? due? ─▶ computed ─▶ replaced ─▶ `_models`
import { createHash, randomUUID } from 'node:crypto'
import { quoteName, quoteText } from '../../catalog/layout.ts'
import { type ConvohouseError, type ErrorCode, isCode } from '../../core/errors.ts'
import { HOUR, MINUTE } from '../../core/time.ts'
import { acknowledgeWithin, registerConsumer, removeConsumer } from '../changes/consumers.ts'
import { type LogRange, logRange } from '../changes/epoch.ts'
import { appendEntries, logChangesOf } from '../changes/log-changes.ts'
import { PUBLISHED_TABLES } from '../changes/published-tables.ts'
import type { Writer } from '../connection.ts'
import { describedTables } from '../dictionary/dictionary.ts'
import { replaceByKey } from '../marts/mart-tables.ts'
import type { Warehouse } from '../open.ts'
import { type Computed, computed } from './compute.ts'
import { declaredModel, type ModelFile, modelFiles } from './declaration.ts'
import { inOrder, modelsReadBy, type PlannedModel, readBy } from './order.ts'
import {
  type ModelOutcome,
  publishedModel,
  type StoredModel,
  storedModels,
  storeModel,
  tableOf,
} from './stored-models.ts'

/** The models' own name among the consumers of the change log. */
const MODELS_CONSUMER = 'models'

/** Time for one model, and for all of a refresh: the next one continues. */
const LIMITS = { oneMs: MINUTE, allMs: 3 * MINUTE }

/** A model that takes too long is tried again after this, or when its file changes. */
const RETRY_MS = HOUR

export interface ModelOptions {
  warehouse: Pick<Warehouse, 'writer' | 'instance'>
  /** The folder of the user's models; null: none. */
  folder: string | null
  now?: () => number
  signal?: AbortSignal
  limits?: { oneMs: number; allMs: number }
}

interface Plan {
  /** Hash of the files. */
  files: string
  models: readonly PlannedModel[]
}

const plans = new WeakMap<Writer, Plan>()

/** Names that a model must not have: of tables, views and marts. */
async function takenNames(): Promise<{ taken: Set<string>; marts: Set<string> }> {
  const names = (await describedTables()).map(({ name }) => name)
  const marts = names.filter(name => name.startsWith('marts.'))
  return { taken: new Set(names.map(name => name.replace(/^marts\./, ''))), marts: new Set(marts) }
}

async function planOf({ writer, instance }: ModelOptions['warehouse'], files: readonly ModelFile[]): Promise<Plan> {
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
      // Any other name is that of a CTE, or unknown, which DuckDB will say.
      planned.push({ ...model, dependsOn: names.filter(read => read.includes('.') || taken.has(read)) })
    }
    const plan = { files: hash, models: inOrder(planned, marts) }
    plans.set(writer, plan)
    return plan
  } finally {
    connection.closeSync()
  }
}

/** The newest entry of the log for each table. Entries of a record are those of its child tables, too. */
async function newestEntries(writer: Writer): Promise<Map<string, number>> {
  const rows = await writer.rows<{ name: string; seq: string }>(
    'SELECT table_name AS name, max(seq)::VARCHAR AS seq FROM _changes GROUP BY ALL',
  )
  return new Map(rows.map(({ name, seq }) => [name, Number(seq)]))
}

/** The table whose entries in the log tell of changes; undefined: none does, as for bookkeeping. */
const followedBy = (table: string): string | undefined =>
  /^(marts|models)\./.test(table)
    ? table
    : PUBLISHED_TABLES.find(one => one.table === table || one.children.includes(table))?.table

interface Log {
  range: LogRange
  newest: Map<string, number>
}

const readLog = async (writer: Writer): Promise<Log> => ({
  range: await logRange(writer),
  newest: await newestEntries(writer),
})

function isDue(model: PlannedModel, before: StoredModel | undefined, { range, newest }: Log, nowMs: number): boolean {
  if (!before || before.definition !== model.definition) return true
  if (before.outcome === 'timeout') return Math.abs(nowMs - Date.parse(before.triedAt)) >= RETRY_MS
  if (before.outcome !== 'built' || before.position === null) return true
  const { epoch, seq } = before.position
  if (epoch !== range.epoch || seq < range.trimmedTo || seq > range.seq) return true
  return model.dependsOn.some(table => {
    const followed = followedBy(table)
    return followed === undefined || (newest.get(followed) ?? 0) > seq
  })
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * Replaces the entries of a table by one without a key: those who read the model learn that it has changed, and numbers that consumers have read are not
 * used again. Keys of an earlier table may have another type.
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
  // Targets are written from empty, since the identity is part of what they have published.
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

/** What is stored about an attempt that failed: the table and its position stay. */
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

async function build(options: Required<ModelOptions>, attempt: Attempt, timeoutMs: number): Promise<StoredModel> {
  const { warehouse, signal } = options
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

/** Drops the tables of models whose files are gone. Targets are written without them, from empty. */
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

/** The error that stops a model before anything is computed; null: none. */
function obstacle(
  model: PlannedModel,
  results: ReadonlyMap<string, StoredModel>,
): Pick<ConvohouseError, 'code' | 'message' | 'hint'> | null {
  if (model.problem !== undefined) return { code: 'MODEL_INVALID', message: model.problem, hint: 'Correct the file.' }
  const other = modelsReadBy(model).find(name => results.get(name)?.outcome !== 'built')
  if (other === undefined) return null
  return {
    code: 'MODEL_BLOCKED',
    message: `it reads ${tableOf(other)}, which is not built`,
    hint: `Correct ${other}.sql.`,
  }
}

/** Stores how far models have followed the log without being computed again, and lets the log be trimmed up to the slowest. */
async function advance(
  writer: Writer,
  { stored, results, hasBuilt }: Record<'stored' | 'results', ReadonlyMap<string, StoredModel>> & { hasBuilt: boolean },
): Promise<void> {
  // One that an erasure has emptied has no position until it is computed.
  const built = [...results.values()].flatMap(({ name, outcome, position }) =>
    outcome === 'built' && position !== null ? [{ name, position }] : [],
  )
  const moved = built.filter(
    ({ name, position }) => stored.has(name) && position.seq !== stored.get(name)!.position?.seq,
  )
  if (moved.length === 0 && !hasBuilt) return
  await writer.transaction(async () => {
    for (const { name, position } of moved)
      await writer.run('UPDATE _models SET epoch = $epoch, seq = $seq WHERE name = $name', { ...position, name })
    const { epoch } = await logRange(writer)
    const seqs = built.map(({ position }) => (position.epoch === epoch ? position.seq : 0))
    if (seqs.length > 0) await acknowledgeWithin(writer, MODELS_CONSUMER, { epoch, seq: Math.min(...seqs) })
  })
}

async function refresh(options: Required<ModelOptions>): Promise<StoredModel[]> {
  const { warehouse, folder, now, signal, limits } = options
  const { writer } = warehouse
  const stored = new Map((await storedModels(writer)).map(model => [model.name, model]))
  if (folder === null && stored.size === 0) return []
  const files = folder === null ? [] : await modelFiles(folder)
  const { models } = await planOf(warehouse, files)
  await dropRemoved(
    writer,
    [...stored.values()].filter(({ name }) => models.every(model => model.name !== name)),
  )
  if (models.length === 0) {
    if (stored.size > 0) await removeConsumer(writer, MODELS_CONSUMER)
    return []
  }
  if (stored.size === 0) await registerConsumer(writer, MODELS_CONSUMER)
  const untilMs = performance.now() + limits.allMs
  const results = new Map<string, StoredModel>()
  let log = await readLog(writer)
  let hasBuilt = false

  const store = async (model: StoredModel): Promise<void> => {
    results.set(model.name, model)
    await writer.transaction(() => storeModel(writer, model))
  }

  for (const model of models) {
    const before = stored.get(model.name)
    const attempt = { model, before, nowMs: now() }
    const stopped = obstacle(model, results)
    if (stopped) {
      const failed = failedAttempt(attempt, stopped)
      const isKnown = before && isSame({ ...failed, triedAt: before.triedAt }, before)
      if (isKnown) results.set(model.name, before)
      else await store(failed)
      continue
    }
    const leftMs = untilMs - performance.now()
    if (!isDue(model, before, log, attempt.nowMs) || signal.aborted || leftMs <= 0) {
      // Nothing that it reads has changed up to here.
      const isCurrent = before?.outcome === 'built' && !isDue(model, before, log, attempt.nowMs)
      const { epoch, seq } = log.range
      if (before) results.set(model.name, isCurrent ? { ...before, position: { epoch, seq } } : before)
      continue
    }
    try {
      results.set(model.name, await build(options, attempt, Math.min(limits.oneMs, leftMs)))
      hasBuilt = true
      log = await readLog(writer)
    } catch (error) {
      if (isCode(error, 'INTERRUPTED')) break
      // Others have used its time: the next refresh begins with it.
      const isCutShort = isCode(error, 'QUERY_TIMEOUT') && leftMs < limits.oneMs
      if (isCutShort || !isCode(error, 'MODEL_INVALID', 'MODEL_FAILED', 'QUERY_TIMEOUT')) {
        if (before) results.set(model.name, before)
        if (!isCutShort) throw error
      } else await store(failedAttempt(attempt, error))
    }
  }
  await advance(writer, { stored, results, hasBuilt })
  return [...results.values()]
}

const running = new WeakMap<Writer, Promise<unknown>>()

/**
 * Brings the models up to date. One refresh runs at a time.
 * @returns all models
 * @throws MODEL_INVALID if the folder cannot be read; HOME_UNUSABLE. The errors of models are results
 */
export function refreshModels(options: ModelOptions): Promise<StoredModel[]> {
  const { writer } = options.warehouse
  const whole = { now: Date.now, signal: new AbortController().signal, limits: LIMITS, ...options }
  const turn = (running.get(writer) ?? Promise.resolve()).then(() => refresh(whole))
  running.set(
    writer,
    turn.catch(() => {}),
  )
  return turn
}
