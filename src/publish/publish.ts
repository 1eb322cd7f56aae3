// Publishes the warehouse to one target: asks the target for its watermark, writes a package of what changed since, and has the target's
// process apply it. A publication that fails at any point leaves the target as it was, and the next one starts from its watermark.
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PublishSettings, TargetConfig } from '../config/targets.ts'
import { diskErrorCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
import type { PublicationReport } from '../core/publication-report.ts'
import { momentText } from '../core/time.ts'
import { counted } from '../core/words.ts'
import { makeFolder, namesIn } from '../files/durable.ts'
import { acknowledge, registerConsumer } from '../warehouse/changes/consumers.ts'
import {
  confirmPublication,
  consumerOf,
  emptyTablesAfter,
  endPublication,
  isIssued,
  issuePublication,
} from '../warehouse/changes/publications.ts'
import { type Changes, changesSince, type RefillReason } from '../warehouse/changes/read-changes.ts'
import { isOutOfMemory } from '../warehouse/fault.ts'
import { safeReason } from '../warehouse/load/quarantine-reason.ts'
import { refreshMarts } from '../warehouse/marts/refresh.ts'
import { usingMemory } from '../warehouse/memory-use.ts'
import { refreshModels } from '../warehouse/models/refresh-models.ts'
import type { Warehouse } from '../warehouse/open.ts'
import { temporaryFolder } from '../warehouse/temporary-files.ts'
import { extensionPlaces } from './extension.ts'
import { fillSnapshot } from './fill-snapshot.ts'
import { type Lack, lackAfter, NO_LACK } from './held-tables.ts'
import { expectOwner, ownerOf } from './owner.ts'
import { type PackageHead, type Sums, sumsOfSelection, writeTables } from './package.ts'
import { isRecord } from './package-rows.ts'
import { hashKey, needsKey } from './pii.ts'
import { MOST_READERS, type Reader, reading } from './readers.ts'
import { type SelectedRelation, type Selection, selectionFor } from './selection.ts'
import { type Application, openTarget, type TargetClient } from './target-client.ts'
import { limitTime } from './time-limit.ts'
import { publicationWarnings } from './warnings.ts'
import type { TargetWatermark } from './watermark.ts'

/** What a publication does now: it reads the target's watermark, writes the package, applies it in the target, compares both, maintains the target. */
export type PublicationPhase = 'opening' | 'packaging' | 'applying' | 'verifying' | 'maintaining'

interface PublicationSettings extends PublishSettings {
  threads: number
  /** The folder of DuckDB's extensions; null: they are downloaded. */
  extensions: string | null
  /** Folder of the user's models; null: none; absent: models stay as they are. */
  models?: string | null
}

export interface PublishOptions {
  warehouse: Warehouse
  home: string
  target: TargetConfig
  settings: PublicationSettings
  /** Writes the target from empty, whatever its watermark. */
  refill?: boolean
  /** Compares the target with the warehouse, also if there is nothing to publish. */
  verify?: boolean
  signal?: AbortSignal
  now?: () => number
  /** The program of the target's process. */
  entry?: URL
  /** It is aborted after this time; default: ten minutes. */
  longestMs?: number
  /** Called when a phase begins; `rows`: in the package. */
  onPhase?: (phase: PublicationPhase, facts: { rows?: number }) => void
}

interface Attempt extends PublishOptions {
  /** Connections that read the warehouse. */
  readers: number
  /** The target's process has too little memory for the changes, but not for a refill, whose rows it does not insert. */
  isTooLarge?: boolean
}

type Reason = RefillReason | 'requested' | 'memory' | 'unknown publication' | 'other policy' | 'erased records'

const PACKAGE_PREFIX = 'publication-'

/** Packages of killed processes. Requires that this process holds the warehouse, and publishes to one target at a time. */
async function removeStalePackages(home: string): Promise<void> {
  const folder = temporaryFolder(home)
  for (const name of (await namesIn(folder)).filter(name => name.startsWith(PACKAGE_PREFIX)))
    await rm(join(folder, name), { recursive: true, force: true })
}

/** Looks for the entries that an erasure leaves: no file of the target may keep the deleted values. */
async function hasErasure(reader: Reader, { from, to }: Changes): Promise<boolean> {
  const range = { after: from.seq, upTo: to.seq }
  const sql = `SELECT 1 FROM _changes WHERE op = 'delete' AND seq > $after AND seq <= $upTo LIMIT 1`
  return (await reader.rows(sql, range)).length > 0
}

interface Decided {
  selection: Selection
  lack: Lack
  /** Null: a refill. */
  changes: Changes | null
  reason: Reason | null
  to: { epoch: string; seq: number }
  /** The target must keep no earlier state. A refill may hide an erasure, since the log no longer has its entries. */
  erases: boolean
}

async function decide(
  reader: Reader,
  { options, base, key }: { options: Attempt; base: TargetWatermark | null; key: Buffer | null },
): Promise<Decided> {
  const { target, refill = false, isTooLarge = false } = options
  const selection = await selectionFor(reader, { target, key })
  const answer = await changesSince(reader, { name: consumerOf(target.name), watermark: base })
  const filled = (reason: Reason): Decided => {
    const lack = lackAfter(selection, null, NO_LACK)
    return { selection, lack, changes: null, reason, to: answer.to, erases: true }
  }
  if (refill) return filled('requested')
  if (isTooLarge) return filled('memory')
  if (answer.kind === 'refill') return filled(answer.reason)
  if (!(await isIssued(reader, base!.publicationId))) return filled('unknown publication')
  if (base!.policy !== selection.policy) return filled('other policy')
  const erases = await hasErasure(reader, answer)
  // Only a snapshot keeps deleted values in unused blocks; but a table that is held back would keep the erased rows.
  const rewrites = target.type !== 'snapshot' && selection.blocked.length + base!.held.length === 0
  if (erases && !rewrites) return filled('erased records')
  const before = { held: base!.held, empty: await emptyTablesAfter(reader, base!.publicationId) }
  return { selection, lack: lackAfter(selection, answer, before), changes: answer, reason: null, to: answer.to, erases }
}

/** @throws PUBLICATION_DIFFERS, naming the tables */
function expectEqual(target: string, expected: Sums, found: Sums): void {
  const differing = Object.keys(expected).filter(
    name => expected[name]!.rows !== found[name]?.rows || expected[name]!.checksum !== found[name]?.checksum,
  )
  if (differing.length === 0) return
  const counts = differing.slice(0, 3).map(name => `${name} (${found[name]?.rows} rows of ${expected[name]!.rows})`)
  throw new ConvohouseError('PUBLICATION_DIFFERS', {
    what: `Target ${target} differs from the warehouse in ${counted(differing.length, 'table')}: ${counts.join(', ')}${differing.length > 3 ? ', …' : ''}.`,
    hint: `Run \`convohouse publish ${target} --refill\`, which writes it from empty.`,
    facts: { tables: differing.length },
  })
}

/** One attempt. */
interface Publication {
  id: string
  client: TargetClient
  /** Of the package. */
  folder: string
  signal: AbortSignal
}

interface Written {
  /** The package, which the target has begun to apply; null: there is nothing to publish. */
  contents: { kind: PackageHead['kind']; tables: number; rowCount: number; application: Application } | null
  decided: Decided
  sums: Sums | null
}

/** Whether the target takes the files of a relation as they are. A lake in S3 does not, since DuckDB itself uploads, in parts. */
const takesFiles = (target: TargetConfig, relation: SelectedRelation): boolean =>
  target.type === 'parquet' || (target.type === 'ducklake' && target.s3 === null && isRecord(relation))

/** Writes the package, if there is anything to publish, and hands its tables to the target. Records the publication before its target can contain it. */
async function writePackage(options: Attempt, { id, client, folder, signal }: Publication): Promise<Written> {
  const { warehouse, home, target, readers: count, refill = false, verify = false, now = Date.now } = options
  const key = needsKey(target.pii) ? await hashKey(home) : null
  const owner = await ownerOf(home, target.name)
  const base = client.watermark
  return reading({ warehouse, signal, key, count }, async readers => {
    const [reader] = readers
    if (base) await expectOwner(reader, { target, stored: base.owner, owner, refill })
    const asOfMs = now()
    const decided = await decide(reader, { options, base, key })
    const { selection, lack, changes, reason, to, erases } = decided
    const { held } = lack
    const sums = verify ? await sumsOfSelection({ reader, signal, held }, selection) : null
    const isSameState = base?.owner === owner && String(base.held) === String(held)
    const isCurrent = isSameState && changes?.to.seq === changes?.from.seq
    if (changes !== null && isCurrent) {
      await confirmPublication(warehouse.writer, { id: base!.publicationId, target: target.name, endedMs: asOfMs })
      return { contents: null, decided, sums }
    }
    const kind = changes === null ? 'refill' : 'delta'
    await issuePublication(warehouse.writer, { id, target: target.name, kind, reason, to, startedMs: asOfMs, lack })
    const watermark = {
      owner,
      ...to,
      publicationId: id,
      policy: selection.policy,
      asOf: momentText(asOfMs),
      held: [...held],
    }
    const head = { kind, base, watermark, erases } as const
    if (kind === 'refill' && target.type === 'snapshot') {
      const filled = await fillSnapshot({ warehouse, reader, signal }, selection, { target, publicationId: id })
      return { contents: { kind, ...filled, application: client.apply(head) }, decided, sums }
    }
    const application = client.apply(head)
    let [tables, rowCount] = [0, 0]
    const isFinal = (relation: SelectedRelation) => takesFiles(target, relation)
    const writing = { readers, folder, isFinal, signal }
    const partitionBy = target.type === 'parquet' ? target.partitionBy : null
    const heldBefore = base?.held ?? []
    for await (const table of writeTables(writing, selection, { changes, heldBefore, partitionBy })) {
      application.add(table)
      tables += 1
      rowCount += table.rowCount
    }
    return { contents: { kind, tables, rowCount, application }, decided, sums }
  })
}

async function maintained({ onPhase }: PublishOptions, client: TargetClient): Promise<string | null> {
  onPhase?.('maintaining', {})
  return client.maintain()
}

async function publishWith(options: Attempt, publication: Publication): Promise<Omit<PublicationReport, 'durationMs'>> {
  const { warehouse, target, now = Date.now, onPhase } = options
  const { id, client } = publication
  onPhase?.('packaging', {})
  const { contents, decided, sums } = await writePackage(options, publication)
  if (contents) {
    onPhase?.('applying', { rows: contents.rowCount })
    await contents.application.complete()
  }
  await acknowledge(warehouse.writer, consumerOf(target.name), decided.to)
  if (contents) {
    const end = { id, target: target.name, endedMs: now(), rowCount: contents.rowCount, error: null }
    await endPublication(warehouse.writer, end)
  }
  if (sums) {
    onPhase?.('verifying', {})
    const compared = decided.selection.relations.filter(({ name }) => Object.hasOwn(sums, name))
    const tables = compared.map(({ name, columns }) => ({
      name,
      columns: columns.map(one => ({ name: one.name, sqlType: one.sqlType })),
    }))
    expectEqual(target.name, sums, await client.sums(tables))
  }
  const unmaintained = target.type === 'ducklake' ? await maintained(options, client) : null
  return {
    target: target.name,
    kind: contents?.kind ?? 'current',
    reason: decided.reason,
    rows: contents?.rowCount ?? 0,
    tables: contents?.tables ?? 0,
    seq: decided.to.seq,
    held: decided.lack.held,
    ...(decided.lack.empty.length > 0 && { empty: decided.lack.empty }),
    ...(sums && { verified: Object.keys(sums).length }),
    ...(unmaintained !== null && { unmaintained }),
  }
}

/** The error of a publication; any that we did not raise is PUBLICATION_FAILED, or the disk's on which packages are written. */
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

/** Records a failure, also one that occurred before the publication had a package. A publication that was stopped has not failed. */
async function recordFailure(
  { warehouse, target, now = Date.now }: PublishOptions,
  id: string,
  failed: ConvohouseError,
) {
  if (failed.code === 'INTERRUPTED') return
  const { writer } = warehouse
  const error = { code: failed.code, what: failed.message, hint: failed.hint ?? null }
  const failure = { id, target: target.name, endedMs: now(), rowCount: null, error }
  if (!(await isIssued(writer, id))) {
    const to = { epoch: '', seq: 0 }
    await issuePublication(writer, {
      ...{ id, target: target.name, kind: 'delta', reason: null, to, startedMs: now(), lack: NO_LACK },
    })
  }
  await endPublication(writer, failure)
}

/** Brings the models up to date. Their errors stop no publication. @returns false if their folder cannot be read */
async function keepModels(
  { warehouse, settings: { models }, now = Date.now }: PublishOptions,
  signal: AbortSignal,
): Promise<boolean> {
  if (models === undefined) return true
  return refreshModels({ warehouse, folder: models, now, signal }).then(
    () => true,
    error => {
      if (isCode(error, 'MODEL_INVALID')) return false
      throw error
    },
  )
}

async function attempt(options: Attempt): Promise<PublicationReport> {
  const { warehouse, home, target, settings, entry } = options
  const begunMs = performance.now()
  const id = randomUUID()
  const folder = join(temporaryFolder(home), `${PACKAGE_PREFIX}${id}`)
  const { signal, release } = limitTime(target.name, options)
  try {
    await removeStalePackages(home)
    await makeFolder(folder)
    options.onPhase?.('opening', {})
    await registerConsumer(warehouse.writer, consumerOf(target.name))
    await refreshMarts(warehouse.writer)
    const areModelsRead = await keepModels(options, signal)
    const { memoryLimit, threads } = settings
    const spillFolder = join(folder, 'spill')
    const extensions = extensionPlaces(home, settings.extensions)
    const client = await openTarget({ target, extensions, memoryLimit, threads, spillFolder }, { signal, entry })
    try {
      const report = await usingMemory(warehouse.writer, () => publishWith(options, { id, client, folder, signal }))
      const warnings = await publicationWarnings(warehouse.writer, { areModelsRead, held: report.held })
      const durationMs = Math.round(performance.now() - begunMs)
      return { ...report, ...(warnings.length > 0 && { warnings }), durationMs }
    } finally {
      await client.close()
    }
  } catch (cause) {
    const error = failureOf(options, cause)
    await recordFailure(options, id, error).catch(() => {})
    throw error
  } finally {
    release()
    await rm(folder, { recursive: true, force: true }).catch(() => {})
  }
}

/** In the message of a target's process. */
const OUT_OF_MEMORY = /Out of Memory Error/

/**
 * Publishes to one target what changed since its watermark, or everything. One publication runs at a time in the process that holds the warehouse.
 * If its connections and a load need more memory than there is, it is tried again with one connection; if a snapshot's process has too little for the changes, as
 * a refill.
 * @throws TARGET_LOCKED, TARGET_CHANGED, TARGET_UNUSABLE, PUBLICATION_FAILED, PUBLICATION_DIFFERS, HOME_UNUSABLE, INTERRUPTED
 */
export async function publish(options: PublishOptions): Promise<PublicationReport> {
  let next: Attempt = { ...options, readers: MOST_READERS }
  for (;;)
    try {
      return await attempt(next)
    } catch (error) {
      const { refill = false, isTooLarge = false, target, readers } = next
      if (isOutOfMemory((error as Error).cause) && readers > 1) next = { ...next, readers: 1 }
      else if (OUT_OF_MEMORY.test((error as Error).message) && target.type === 'snapshot' && !refill && !isTooLarge)
        next = { ...next, isTooLarge: true }
      else throw error
    }
}
