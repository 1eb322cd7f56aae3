// Publishes the warehouse to one target: reads the target's watermark, writes a package with the changes since, and has the
// target's process apply it. A failed publication leaves the target unchanged, and the next one starts from its watermark.
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PublishSettings, TargetConfig } from '../config/targets.ts'
import { diskErrorCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
import type { PublicationReport } from '../core/publication-report.ts'
import { formatDuration, MINUTE, momentText, parseMoment } from '../core/time.ts'
import { counted } from '../core/words.ts'
import { makeFolder, namesIn } from '../files/durable.ts'
import { erasures, recordStep } from '../landing/tombstones.ts'
import { readCoverage } from '../reports/coverage.ts'
import { filterText, idsSelectingNone } from '../reports/publications.ts'
import { acknowledge, registerConsumer } from '../warehouse/changes/consumers.ts'
import type { Watermark } from '../warehouse/changes/log-changes.ts'
import {
  confirmPublication,
  consumerOf,
  endPublication,
  isIssued,
  issuePublication,
} from '../warehouse/changes/publications.ts'
import { storedResults } from '../warehouse/checks/results.ts'
import type { Writer } from '../warehouse/connection.ts'
import { isOutOfMemory } from '../warehouse/fault.ts'
import { safeReason } from '../warehouse/load/quarantine-reason.ts'
import { refreshMarts } from '../warehouse/marts/refresh.ts'
import { refreshModels } from '../warehouse/models/refresh-models.ts'
import { wrongModels } from '../warehouse/models/stored-models.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { temporaryFolder } from '../warehouse/temporary-files.ts'
import { blockedError, type Decision, decide, expectOwner, ownerOf } from './decide.ts'
import { type PackageHead, type Sums, sumsOfSelection, writeTables } from './package.ts'
import { hashKey, needsKey } from './pii.ts'
import { type Reader, reading } from './reading.ts'
import { selectedAgents } from './selection.ts'
import { type Application, openTarget, type TargetClient } from './target-client.ts'
import { extensionPlaces } from './target-database.ts'
import { typeOf } from './targets/target-types.ts'

/** Phases of a publication: it reads the target's watermark, writes the package, applies it, compares, maintains the target. */
export type PublicationPhase = 'opening' | 'packaging' | 'applying' | 'verifying' | 'maintaining'

interface PublicationSettings extends PublishSettings {
  threads: number
  /** The folder of DuckDB's extensions; null downloads them. */
  extensions: string | null
  /** What the workspaces ask for; if omitted, the target does not say whether a backfill is unfinished. */
  workspaces?: readonly { id: string; since: string | null }[]
  /** Folder of the user's models; null if there is none. If omitted, models stay as they are. */
  models?: string | null
}

export interface PublishOptions {
  warehouse: Warehouse
  home: string
  target: TargetConfig
  settings: PublicationSettings
  /** Writes the target from empty, regardless of its watermark. */
  refill?: boolean
  /** Compares the target with the warehouse even if there is nothing to publish. */
  verify?: boolean
  signal?: AbortSignal
  now?: () => number
  /** The program of the target's process. */
  entry?: URL
  /** The publication aborts after this time; default: ten minutes. */
  longestMs?: number
  /** Called when a phase begins; `rows` is the number of rows in the package. */
  onPhase?: (phase: PublicationPhase, facts: { rows?: number }) => void
}

/** One attempt. `wanted`: a refill that is due regardless of the target's watermark. */
interface Attempt extends PublishOptions {
  wanted: 'requested' | 'memory' | null
}

const PACKAGE_PREFIX = 'publication-'

/** Removes the packages of killed processes. This process holds the warehouse and publishes to one target at a time. */
async function removeStalePackages(home: string): Promise<void> {
  const folder = temporaryFolder(home)
  for (const name of (await namesIn(folder)).filter(name => name.startsWith(PACKAGE_PREFIX)))
    await rm(join(folder, name), { recursive: true, force: true })
}

/** A longer read transaction would block the warehouse's checkpoints; a longer application has most likely stalled. */
const LONGEST_MS = 10 * MINUTE

/** Returns a signal that aborts after the longest time, or when the caller's signal aborts. */
function limitTime({ target: { name }, signal, longestMs = LONGEST_MS }: PublishOptions) {
  const limit = new AbortController()
  const timer = setTimeout(() => {
    const what = `The publication to ${name} was aborted after ${formatDuration(longestMs)}.`
    const hint =
      'It is tried again. Give it more memory (`publish.memoryLimit`) or threads if it always takes that long.'
    limit.abort(new ConvohouseError('PUBLICATION_FAILED', { what, hint }))
  }, longestMs)
  const stop = () =>
    limit.abort(new ConvohouseError('INTERRUPTED', { what: `The publication to ${name} was stopped.` }))
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  return {
    signal: limit.signal,
    release() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    },
  }
}

/** @throws PUBLICATION_DIFFERS, naming the tables */
function expectEqual(target: string, expected: Sums, found: Sums): void {
  const differing = Object.keys(expected).filter(
    name => expected[name]!.rows !== found[name]?.rows || expected[name]!.checksum !== found[name]?.checksum,
  )
  if (differing.length === 0) return
  const counts = differing
    .slice(0, 3)
    .map(name => `${name} (${found[name]?.rows ?? 'no'} rows of ${expected[name]!.rows})`)
  throw new ConvohouseError('PUBLICATION_DIFFERS', {
    what: `Target ${target} differs from the warehouse in ${counted(differing.length, 'table')}: ${counts.join(', ')}${differing.length > 3 ? ', …' : ''}.`,
    hint: `Run \`convohouse publish ${target} --refill\`, which writes it from empty.`,
    facts: { tables: differing.length },
  })
}

/** Names the tables that the target cannot hold, and why; empty for none. */
const unfitText = ({ unfit }: Decision['selection']): string =>
  [...unfit].map(([table, reason]) => `${table} (${reason})`).join(', ')

interface Publication {
  id: string
  client: TargetClient
  /** The end of the log that marts and models were brought to. */
  refreshed: Watermark
  /** The folder of the package. */
  folder: string
  signal: AbortSignal
}

interface Written {
  /** The package that the target has begun to apply; null if there is nothing to publish. */
  contents: { kind: PackageHead['kind']; tables: number; rowCount: number; application: Application } | null
  decision: Decision
  sums: Sums | null
}

/** Hands the tables of the package to the target while they are written. */
async function sendTables(
  { target, warehouse }: Attempt,
  { id, client, folder, signal }: Publication,
  { reader, decision, head }: { reader: Reader; decision: Decision; head: PackageHead },
): Promise<Written['contents']> {
  const { selection, changes } = decision
  const type = typeOf(target)
  const { kind } = head
  if (kind === 'refill' && type.fill) {
    const filled = await type.fill({ warehouse, reader, signal, publicationId: id }, selection, target)
    return { kind, ...filled, application: client.apply(head) }
  }
  const partitionBy = type.partitionBy(target)
  const application = client.apply(head)
  let [tables, rowCount] = [0, 0]
  // Targets that consist of files publish those of the package.
  const writing = { reader, folder, isFinal: partitionBy !== null, signal }
  for await (const table of writeTables(writing, selection, { changes, partitionBy })) {
    application.add(table)
    tables += 1
    rowCount += table.rowCount
  }
  return { kind, tables, rowCount, application }
}

/** True if a listed agent whose rows the target receives has time since `since` that was not read. */
async function isUnfinished(
  reader: Pick<Writer, 'rows'>,
  { target, settings: { workspaces = [] } }: Attempt,
  nowMs: number,
): Promise<boolean> {
  const selected = await selectedAgents(reader, target)
  for (const { id: workspaceId, since } of workspaces) {
    const agents = selected.filter(agent => agent.workspaceId === workspaceId).map(({ agentId }) => agentId)
    if (agents.length === 0) continue
    const sinceMs = since === null ? null : (parseMoment(since, nowMs) ?? null)
    const { uncovered, unread } = await readCoverage(reader.rows, { workspaceId, agents, sinceMs, nowMs })
    if (uncovered.length > 0 || unread.length > 0) return true
  }
  return false
}

/** Writes the package, if there is anything to publish. Records the publication before its target can contain it. */
async function writePackage(options: Attempt, publication: Publication): Promise<Written> {
  const { warehouse, home, target, wanted, verify = false, now = Date.now } = options
  const { models, workspaces } = options.settings
  const { id, client, refreshed, signal } = publication
  const key = needsKey(target.pii) ? await hashKey(home) : null
  const owner = await ownerOf(home, target.name)
  const base = client.watermark
  return reading({ warehouse, signal, key, models, refreshed }, async reader => {
    if (base) await expectOwner(reader, { target, stored: base.owner, owner, refill: wanted === 'requested' })
    const asOfMs = now()
    const decision = await decide(reader, { target, type: typeOf(target), base, key, wanted })
    const { selection, changes, reason, to, policy, erases } = decision
    const sums = verify ? await sumsOfSelection({ reader, signal }, selection) : null
    if (changes !== null && base?.owner === owner && base.policy === policy && changes.to.seq === changes.from.seq) {
      await confirmPublication(warehouse.writer, { id: base.publicationId, target: target.name, endedMs: asOfMs })
      return { contents: null, decision, sums }
    }
    const kind = changes === null ? 'refill' : 'delta'
    await issuePublication(warehouse.writer, { id, target: target.name, kind, reason, to, startedMs: asOfMs })
    const isBackfillUnfinished = workspaces ? await isUnfinished(reader, options, asOfMs) : null
    const watermark = { owner, ...to, publicationId: id, policy, asOf: momentText(asOfMs), isBackfillUnfinished }
    const head = { kind, base, watermark, erases } as const
    return { contents: await sendTables(options, publication, { reader, decision, head }), decision, sums }
  })
}

async function publishWith(options: Attempt, publication: Publication): Promise<Omit<PublicationReport, 'durationMs'>> {
  const { warehouse, home, target, now = Date.now, onPhase } = options
  const { id, client } = publication
  const erased = (await erasures(home)).filter(one => one.erasedMs !== null && one.targets[target.name] === undefined)
  onPhase?.('packaging', {})
  const { contents, decision, sums } = await writePackage(options, publication)
  const { selection, reason, to } = decision
  if (contents) {
    onPhase?.('applying', { rows: contents.rowCount })
    await contents.application.complete()
  }
  await acknowledge(warehouse.writer, consumerOf(target.name), to)
  if (contents) {
    const unfit = unfitText(selection) || null
    const end = { id, target: target.name, endedMs: now(), rowCount: contents.rowCount, error: null, unfit }
    await endPublication(warehouse.writer, end)
  }
  if (sums) {
    onPhase?.('verifying', {})
    const compared = selection.relations.filter(({ name }) => Object.hasOwn(sums, name))
    const tables = compared.map(({ name, columns }) => ({
      name,
      columns: columns.map(one => ({ name: one.name, sqlType: one.sqlType })),
    }))
    expectEqual(target.name, sums, await client.sums(tables))
  }
  const { isMaintained } = typeOf(target)
  if (isMaintained) onPhase?.('maintaining', {})
  const unmaintained = isMaintained ? await client.maintain() : null
  if (selection.blocked.size > 0) throw blockedError(target.name, selection, true)
  // The target has nothing of the people any more, in old versions neither.
  if (unmaintained === null)
    for (const { id: erasure } of erased) await recordStep(home, { erasure, atMs: now(), target: target.name })
  return {
    target: target.name,
    kind: contents?.kind ?? 'current',
    reason,
    rows: contents?.rowCount ?? 0,
    tables: contents?.tables ?? 0,
    seq: to.seq,
    ...(selection.unfit.size > 0 && { warnings: [`${target.name} receives no ${unfitText(selection)}`] }),
    ...(sums && { verified: Object.keys(sums).length }),
    ...(unmaintained !== null && { unmaintained }),
  }
}

/** Maps an error to that of the publication. Unknown errors become PUBLICATION_FAILED, or HOME_UNUSABLE for the disk of the packages. */
function failureOf({ target: { name: target }, home }: PublishOptions, error: unknown): ConvohouseError {
  if (error instanceof ConvohouseError) return error
  if (diskErrorCode(error) !== null) return homeUnusable(temporaryFolder(home), error)
  return new ConvohouseError('PUBLICATION_FAILED', {
    what: `The publication to ${target} failed: ${safeReason(error)}`,
    hint: isOutOfMemory(error)
      ? 'It is tried again. Raise `memoryLimit` if it always fails.'
      : 'It is tried again. Please report it if it always fails.',
    cause: error,
  })
}

/** Records a failure, even one from before the publication had a package. A publication that was stopped has not failed. */
async function recordFailure(
  { warehouse, target, now = Date.now }: PublishOptions,
  id: string,
  { code, message, hint }: ConvohouseError,
) {
  if (code === 'INTERRUPTED') return
  const { writer } = warehouse
  // If a check blocks an issued publication, the publication itself succeeded: the target contains it.
  const isNew = code === 'PUBLICATION_BLOCKED' || !(await isIssued(writer, id))
  const failed = isNew ? randomUUID() : id
  const of = { id: failed, target: target.name }
  if (isNew)
    await issuePublication(writer, { ...of, kind: 'delta', reason: null, to: { epoch: '', seq: 0 }, startedMs: now() })
  await endPublication(writer, {
    ...of,
    endedMs: now(),
    rowCount: null,
    error: { code, what: message, hint: hint ?? null },
  })
}

/** Refreshes the models. Their errors stop no publication. @returns false if their folder cannot be read */
async function keepModels({ warehouse, settings: { models }, now, signal }: PublishOptions): Promise<boolean> {
  if (models === undefined) return true
  return refreshModels({ warehouse, folder: models, ...(now && { now }), ...(signal && { signal }) }).then(
    () => true,
    error => {
      if (isCode(error, 'MODEL_INVALID')) return false
      throw error
    },
  )
}

/** Returns warnings for the user: models that could not be built, and checks that cannot run. */
async function warningsOf({ writer }: Warehouse, areModelsRead: boolean): Promise<string[]> {
  const broken = (await storedResults(writer)).filter(({ outcome }) => outcome === 'broken')
  // Without the folder, the stored results come from an earlier attempt.
  const models = areModelsRead
    ? (await wrongModels(writer)).map(
        ({ name }) => `the model ${name} could not be built: \`convohouse status\` shows why`,
      )
    : ['the folder of models cannot be read, and the models keep their rows: `convohouse doctor` shows why']
  return [...models, ...broken.map(({ name }) => `the check ${name} cannot run: \`convohouse check\` shows why`)]
}

/** Publishes within the time limit, which models do not share: each has its own. */
async function publishInTime(options: Attempt, publication: Omit<Publication, 'client' | 'signal'>) {
  const { home, target, settings, entry, wanted } = options
  const { memoryLimit, threads } = settings
  const { signal, release } = limitTime(options)
  try {
    const extensions = extensionPlaces(home, settings.extensions)
    const spillFolder = join(publication.folder, 'spill')
    const of = { target, extensions, memoryLimit, threads, spillFolder, refill: wanted === 'requested' }
    const client = await openTarget(of, { signal, entry })
    return await publishWith(options, { ...publication, client, signal }).finally(() => client.close())
  } finally {
    release()
  }
}

async function attempt(options: Attempt): Promise<PublicationReport> {
  const { warehouse, home, target } = options
  const begunMs = performance.now()
  const id = randomUUID()
  const folder = join(temporaryFolder(home), `${PACKAGE_PREFIX}${id}`)
  try {
    await removeStalePackages(home)
    await makeFolder(folder)
    options.onPhase?.('opening', {})
    await registerConsumer(warehouse.writer, consumerOf(target.name))
    const refreshed = await refreshMarts(warehouse.writer)
    const areModelsRead = await keepModels(options)
    const report = await publishInTime(options, { id, folder, refreshed })
    const selected = filterText({ selectingNone: await idsSelectingNone(sql => warehouse.writer.rows(sql), target) })
    const unselected = selected === null ? [] : [`${target.name}: ${selected}: correct its \`rows\` or \`pii\``]
    const warnings = [...(report.warnings ?? []), ...unselected, ...(await warningsOf(warehouse, areModelsRead))]
    const durationMs = Math.round(performance.now() - begunMs)
    return { ...report, ...(warnings.length > 0 && { warnings }), durationMs }
  } catch (cause) {
    const error = failureOf(options, cause)
    await recordFailure(options, id, error).catch(() => {})
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

/** Matches the message of a target's process. */
const OUT_OF_MEMORY = /Out of Memory Error/

/**
 * Publishes to one target the changes since its watermark, or everything. The process that holds the warehouse runs one publication at a time.
 * Changes that do not fit into the memory of the target's process are written as a refill, which needs less.
 * @throws TARGET_LOCKED, TARGET_CHANGED, TARGET_UNUSABLE, PUBLICATION_FAILED, PUBLICATION_DIFFERS, PUBLICATION_BLOCKED, HOME_UNUSABLE, INTERRUPTED
 */
export async function publish(options: PublishOptions): Promise<PublicationReport> {
  const wanted = options.refill ? 'requested' : null
  try {
    return await attempt({ ...options, wanted })
  } catch (error) {
    if (wanted !== null || !OUT_OF_MEMORY.test((error as Error).message)) throw error
    return attempt({ ...options, wanted: 'memory' })
  }
}
