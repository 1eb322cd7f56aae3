// The process of one publication to one target: it holds the target's lock from the first message to its end, so that no second publication
// can come between. It ends when the process that started it does; SIGKILL is safe at any moment.
import { readdirSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { Readable } from 'node:stream'
import { ConvohouseError } from '../core/errors.ts'
import { destinationOf } from '../files/destination.ts'
import { restrictUmask } from '../files/durable.ts'
import { safeReason } from '../warehouse/load/quarantine-reason.ts'
import { openDuckLake } from './ducklake/ducklake.ts'
import { probeLake } from './ducklake/probe.ts'
import { loadExtension } from './extension.ts'
import { openParquet } from './parquet.ts'
import { openPostgres } from './postgres/postgres.ts'
import { probePostgres } from './postgres/probe.ts'
import { openSnapshot } from './snapshot.ts'
import { openTargetDatabase, type TargetDatabase, targetError } from './target-database.ts'
import type { FromTarget, OpenTarget, TargetSettings, ToTarget } from './target-port.ts'

/** A symbolic link is followed, not replaced: it may lead to a disk with more space. @throws TARGET_UNUSABLE */
const followed = (path: string): Promise<string> =>
  destinationOf(path).catch(cause => {
    throw targetError(path, cause, 'Correct the symbolic link, or give the target another path.')
  })

/** AWS's SDK takes longer to load than all else, and few targets need it. */
const s3 = async () => ({ ...(await import('./s3/parquet.ts')), ...(await import('./s3/probe.ts')) })

async function openKind(database: TargetDatabase, settings: TargetSettings): Promise<OpenTarget> {
  const { target } = settings
  switch (target.type) {
    case 'snapshot':
      if (target.search) await loadExtension(database, 'fts', settings.extensions)
      return openSnapshot(database, { ...target, path: await followed(target.path) })
    case 'parquet':
      if (target.s3 !== null) return (await s3()).openParquetS3({ database, place: target.s3, settings })
      return openParquet(database, await followed(target.path))
    case 'postgres':
      return openPostgres(database, target, settings.extensions)
    case 'ducklake':
      return openDuckLake(database, target, settings.extensions)
  }
}

async function open(settings: TargetSettings): Promise<OpenTarget> {
  // Each thread that writes rows of wide tables into a snapshot holds a row group of them.
  const threads = settings.target.type === 'snapshot' ? Math.min(settings.threads, 2) : settings.threads
  return openKind(await openTargetDatabase({ ...settings, threads }), settings)
}

/** @throws TARGET_UNUSABLE, SECRET_MISSING, EXTENSION_UNAVAILABLE */
async function probe(settings: TargetSettings): Promise<string> {
  const { target, extensions } = settings
  if (target.type === 'parquet' && target.s3 !== null) return (await s3()).probeS3(target.s3)
  const database = await openTargetDatabase(settings)
  switch (target.type) {
    case 'postgres':
      await loadExtension(database, 'postgres_scanner', extensions)
      return probePostgres(database, target)
    case 'ducklake':
      return probeLake(database, target, extensions)
    case 'snapshot':
      await loadExtension(database, 'fts', extensions)
      return 'with the extension fts'
    default:
      throw new Error(`a target ${target.type} has no server`)
  }
}

/** A tenth of the weight of a process with the usual priority. */
const LOWERED = 10

/** Others wait for a transaction of PostgreSQL that replaces rows, and readers of a lake for the process that has its catalog's file. */
const holdsUpOthers = ({ target }: TargetSettings): boolean =>
  target.type === 'postgres' || (target.type === 'ducklake' && target.catalog.type !== 'postgres')

/**
 * Dashboards on the same machine go before a delta and maintenance, which nobody waits for. A refill takes much longer, within the same limit of
 * time, and keeps its priority. Linux has a priority for each thread.
 */
function lowerPriority(): void {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid]
  for (const thread of threads)
    try {
      if (getPriority(thread) < LOWERED) setPriority(thread, LOWERED)
    } catch {
      // The thread has ended.
    }
}

let opened: OpenTarget | null = null
let letsOthersGoFirst = false

/** The tables of the package, in the order in which they arrive. */
const tables = new Readable({ objectMode: true, read() {} })

async function answer(message: Exclude<ToTarget, { kind: 'table' | 'complete' }>): Promise<FromTarget> {
  switch (message.kind) {
    case 'probe':
      return { kind: 'probed', found: await probe(message.settings) }
    case 'open':
      letsOthersGoFirst = !holdsUpOthers(message.settings)
      opened = await open(message.settings)
      return { kind: 'opened', watermark: await opened.watermark() }
    case 'apply':
      if (letsOthersGoFirst && message.head.kind === 'delta') lowerPriority()
      await opened!.apply({ ...message.head, tables })
      return { kind: 'applied' }
    case 'sums':
      return { kind: 'sums', sums: await opened!.sums(message.tables) }
    case 'maintain':
      if (letsOthersGoFirst) lowerPriority()
      return { kind: 'maintained', failure: (await opened!.maintain?.()) ?? null }
  }
}

/** Without values, which DuckDB's messages may quote. */
function failureOf(error: unknown): FromTarget {
  if (error instanceof ConvohouseError)
    return { kind: 'failed', code: error.code, what: error.message, hint: error.hint ?? null }
  return {
    kind: 'failed',
    code: 'PUBLICATION_FAILED',
    what: `The target cannot be written: ${safeReason(error)}`,
    hint: null,
  }
}

restrictUmask()
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// The parent ends this process; signals of a terminal reach both.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('message', (message: ToTarget) => {
  if (message.kind === 'table') return void tables.push(message.table)
  if (message.kind === 'complete') return void tables.push(null)
  void answer(message)
    .catch(failureOf)
    .then(reply => process.send!(reply))
})
