// Publishes a large warehouse to each kind of target. Measures what 1 % of changes costs compared with a full publication, and the peak
// memory of both processes.
//
// Marts are brought up to date before a publication is timed, as the end of a sync does. Personal data is kept, which is the most data.
//
// Building the warehouse takes longest: with `--home FOLDER` it is kept there, and a later run with the same options starts from a copy.
import { execFile } from 'node:child_process'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { ParquetTarget } from '../../src/config/targets/parquet.ts'
import type { SnapshotTarget } from '../../src/config/targets/snapshot.ts'
import type { TargetConfig } from '../../src/config/targets.ts'
import { syncFile } from '../../src/files/durable.ts'
import { publish } from '../../src/publish/publish.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { inFolder } from './command.ts'
import { type BenchOptions, median, rounded, seconds } from './measure.ts'
import { inWarehouse } from './place.ts'
import { Changes } from './publish/changes.ts'
import { withPeaks } from './publish/peaks.ts'
import { LONGEST_MS, MEMORY_LIMIT, type PublishedPlace, provide, SETTINGS } from './publish/place.ts'
import { type BenchServer, benchServer, KEEP } from './publish/server.ts'

const SHARE = 0.01

const MIB = 2 ** 20

const log = (text: string): void => console.error(text)

/** Writes everything to the disk, so that no measurement waits for earlier writes. */
const settleDisk = (): Promise<unknown> => promisify(execFile)('sync')

/** Makes the server do now what it would do by itself while the next publication is measured. */
async function settleServer(server: BenchServer): Promise<void> {
  for (const statement of ['VACUUM (ANALYZE)', 'CHECKPOINT']) await server.executeAlone(statement)
}

/** Returns the seconds of a copy that is durable, as a published file is. */
const durableCopy = (from: string, to: string): Promise<number> =>
  seconds(async () => {
    await copyFile(from, to)
    await syncFile(to)
    await rm(to)
  })

type Kind = TargetConfig['type']

/** Seconds of each publication. */
interface Measured {
  full: number[]
  delta: number[]
}

/** Publishes to a target; resolves with the seconds. `peak` receives the highest peak resident set of any process, bytes. */
async function timedPublication(
  { warehouse, home, extensions }: { warehouse: Warehouse; home: string; extensions: string | null },
  { target, refill, peak }: { target: TargetConfig; refill: boolean; peak: { bytes: number } },
): Promise<number> {
  await refreshMarts(warehouse.writer)
  await settleDisk()
  const begunMs = performance.now()
  const settings = { ...SETTINGS, extensions }
  const { result, peaks } = await withPeaks(() =>
    publish({ warehouse, home, target, settings, refill, longestMs: LONGEST_MS }),
  )
  const taken = (performance.now() - begunMs) / 1_000
  const { kind, rows, reason } = result
  if (refill !== (kind === 'refill')) throw new Error(`the publication was ${kind}: ${reason}`)
  const [own, child] = [peaks.own, peaks.child].map(bytes => rounded(bytes / MIB, 0))
  const what = `${rows.toLocaleString('en')} rows; peak ${own} MB, of the target's process ${child} MB`
  log(`${target.type} ${kind}: ${rounded(taken)} s, ${what}`)
  peak.bytes = Math.max(peak.bytes, peaks.child, peaks.own)
  return taken
}

/** Collects garbage: the peak of this process must not include what the bench itself has read. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

type Figures = Record<string, number | null>

function figuresOf(measured: Record<Kind, Measured>): Figures {
  const ratio = (some: readonly number[], all: readonly number[]) =>
    some.length === 0 || all.length === 0 ? null : rounded(median(some) / median(all), 3)
  const kinds = Object.entries(measured).flatMap(([kind, { full, delta }]) => [
    [`${kind}DeltaRatio`, ratio(delta, full)],
    [`${kind}Seconds`, full.length === 0 ? null : rounded(median(full))],
    [`${kind}DeltaSeconds`, delta.length === 0 ? null : rounded(median(delta))],
  ])
  return Object.fromEntries(kinds)
}

async function measure(
  place: PublishedPlace,
  { rows, rounds }: BenchOptions,
  server: BenchServer | null,
): Promise<Figures> {
  const { home } = place
  const changes = new Changes(place)
  collectGarbage()
  const snapshot: SnapshotTarget = { name: 's', type: 'snapshot', path: join(home, 's.duckdb'), pii: KEEP, rows: null }
  const parquet: ParquetTarget = {
    ...{ name: 'p', type: 'parquet', path: join(home, 'p'), pii: KEEP, rows: null, s3: null, partitionBy: ['month'] },
  }
  const lake = (await server?.newLake(join(home, 'lake'))) ?? null
  return await inWarehouse(home, { memoryLimit: MEMORY_LIMIT, bulk: false }, async warehouse => {
    const none = (): Measured => ({ full: [], delta: [] })
    const measured: Record<Kind, Measured> = { snapshot: none(), parquet: none(), postgres: none(), ducklake: none() }
    const changed = Math.round(rows * SHARE)
    const peaks = Array.from({ length: rounds }, () => ({ bytes: 0 }))
    for (const peak of peaks) {
      const timed = async (target: TargetConfig, refill: boolean) => {
        const there = { warehouse, home, extensions: server?.extensions ?? null }
        const taken = await timedPublication(there, { target, refill, peak })
        measured[target.type][refill ? 'full' : 'delta'].push(taken)
      }
      const load = async (order: 'random' | 'newest') =>
        log(`load of ${changed} ${order}: ${rounded(await changes.load(warehouse, order, changed))} s`)
      await timed(snapshot, true)
      if (lake) await timed(lake, true)
      await load('random')
      await settleDisk()
      // A delta of a snapshot copies its file first, which is not counted.
      const copied = await durableCopy(snapshot.path, join(home, 'copy'))
      await timed(snapshot, false)
      measured.snapshot.delta.push(measured.snapshot.delta.pop()! - copied)
      if (lake) await timed(lake, false)
      await timed(parquet, true)
      await load('newest')
      await timed(parquet, false)
      // PostgreSQL comes last, because its server continues to work in the background.
      const postgres = (await server?.newTarget()) ?? null
      if (postgres) {
        await timed(postgres, true)
        await settleServer(server!)
        await load('random')
        await timed(postgres, false)
      }
    }
    return { ...figuresOf(measured), peakMb: rounded(peaks[0]!.bytes / MIB, 0), rows }
  })
}

export const publishBench = (options: BenchOptions): Promise<Figures> =>
  inFolder(async home => {
    const server = await benchServer()
    try {
      return await measure(await provide(home, options), options, server)
    } finally {
      await server?.remove()
    }
  })
