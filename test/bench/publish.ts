// Publications of a large warehouse to each kind of target: what 1 % of changes costs compared with a full publication, a full publication
// compared with the plain COPY of the same rows, and the peak memory of both processes, also while pages are loaded.
//
// Marts are brought up to date before a publication is timed, as the end of a sync does. Personal data is kept, which is the most data.
//
// Building the warehouse takes longest: with `--home FOLDER` it is kept there, and a later run with the same options starts from a copy.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, rename, rm, stat } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { ParquetTarget } from '../../src/config/targets/parquet.ts'
import type { SnapshotTarget } from '../../src/config/targets/snapshot.ts'
import type { TargetConfig } from '../../src/config/targets.ts'
import { syncFile } from '../../src/files/durable.ts'
import { publish } from '../../src/publish/publish.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import { type Warehouse, warehouseFile } from '../../src/warehouse/open.ts'
import { inFolder } from './command.ts'
import { landExport, PAGE } from './landed-export.ts'
import { type BenchOptions, median, rounded, seconds } from './measure.ts'
import { inWarehouse } from './place.ts'
import { Changes } from './publish/changes.ts'
import { processorSeconds, withPeaks } from './publish/peaks.ts'
import { build, MEMORY_LIMIT, type PublishedPlace } from './publish/place.ts'
import { plainCopy } from './publish/plain-copy.ts'
import { type BenchServer, benchServer, KEEP } from './publish/server.ts'

const SHARE = 0.01

/** Defaults of the configuration, on two cores. */
const SETTINGS = { everyMs: 900_000, memoryLimit: '512MB', threads: 2 }

/** A publication that takes longer than is allowed is measured all the same. */
const LONGEST_MS = 3_600_000

const MIB = 2 ** 20

const log = (text: string): void => console.error(text)

/** Else what is measured waits for what was written before. */
const settleDisk = (): Promise<unknown> => promisify(execFile)('sync')

/** What a server does by itself some time after so many rows, and would do while the next publication is measured. */
async function settleServer(server: BenchServer): Promise<void> {
  const taken = await seconds(async () => {
    for (const statement of ['VACUUM (ANALYZE)', 'CHECKPOINT']) await server.executeAlone(statement)
  })
  log(`  VACUUM of PostgreSQL: ${rounded(taken)} s`)
}

/** A copy that is durable, as a published file is. */
async function durableCopy(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  await syncFile(to)
}

type Kind = TargetConfig['type']

/** Seconds of each publication and COPY, and of the processor meanwhile. */
interface Measured {
  full: number[]
  delta: number[]
  copy: number[]
  fullProcessor: number[]
  deltaProcessor: number[]
  copyProcessor: number[]
}

interface Taken {
  seconds: number
  processor: number
}

class Publications {
  readonly #warehouse: Warehouse
  readonly #place: PublishedPlace
  readonly #extensions: string | null
  /** Peak resident set of any process, bytes. A COPY for comparison, which has more memory, would raise it. */
  peak = 0

  constructor(warehouse: Warehouse, place: PublishedPlace, extensions: string | null) {
    this.#warehouse = warehouse
    this.#place = place
    this.#extensions = extensions
  }

  async publish(target: TargetConfig, { refill, isPeak }: { refill: boolean; isPeak: boolean }): Promise<Taken> {
    await refreshMarts(this.#warehouse.writer)
    const before = await processorSeconds()
    const begunMs = performance.now()
    const phases: string[] = []
    const settings = { ...SETTINGS, extensions: this.#extensions }
    const { result: report, peaks } = await withPeaks(() =>
      publish({
        ...{ warehouse: this.#warehouse, home: this.#place.home, target, settings, refill, longestMs: LONGEST_MS },
        onPhase: phase => phases.push(`${phase} at ${rounded((performance.now() - begunMs) / 1_000, 1)} s`),
      }),
    )
    const taken = (performance.now() - begunMs) / 1_000
    const { kind, rows, reason } = report
    if (refill !== (kind === 'refill')) throw new Error(`the publication was ${kind}: ${reason}`)
    const processor = (await processorSeconds()) - before
    log(`${target.type} ${kind}: ${rounded(taken)} s (${phases.join(', ')}; processor ${rounded(processor)} s)`)
    const [own, child] = [peaks.own, peaks.child].map(bytes => rounded(bytes / MIB, 0))
    log(`  ${rows.toLocaleString('en')} rows; peak ${own} MB, of the target's process ${child} MB`)
    this.peak = Math.max(this.peak, peaks.child, isPeak ? peaks.own : 0)
    return { seconds: taken, processor }
  }
}

/** Loads pages while `work` runs, and before it. */
async function besideLoads(
  warehouse: Warehouse,
  { place, changes }: { place: PublishedPlace; changes: Changes },
  work: () => Promise<unknown>,
): Promise<{ alone: number; beside: number; walMb: number }> {
  const alone: number[] = []
  for (let load = 0; load < 3; load++) alone.push(await changes.load(warehouse, 'random', PAGE))
  let isRunning = true
  const beside: number[] = []
  let wal = 0
  const loading = (async () => {
    while (isRunning) {
      beside.push(await changes.load(warehouse, 'random', PAGE))
      wal = Math.max(wal, (await stat(`${warehouseFile(place.home)}.wal`).catch(() => ({ size: 0 }))).size)
      await sleep(200)
    }
  })()
  await work().finally(() => {
    isRunning = false
  })
  await loading
  log(`loads beside a publication: ${beside.map(one => rounded(one * 1_000, 0)).join(', ')} ms`)
  return { alone: median(alone), beside: median(beside), walMb: wal / MIB }
}

const ratio = (some: readonly number[], all: readonly number[]): number | null =>
  some.length === 0 ? null : median(some) / median(all)

const roundedOrNull = (value: number | null, digits: number): number | null =>
  value === null ? null : rounded(value, digits)

/** The peak of this process shall not have what the bench itself has read, nor wait for the collector. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

async function measure(
  place: PublishedPlace,
  { rows, rounds }: BenchOptions,
  server: BenchServer | null,
): Promise<Record<string, number | null>> {
  const { home } = place
  const changes = new Changes(place)
  collectGarbage()
  const snapshot: SnapshotTarget = { name: 's', type: 'snapshot', path: join(home, 's.duckdb'), pii: KEEP, rows: null }
  const parquet: ParquetTarget = {
    ...{ name: 'p', type: 'parquet', path: join(home, 'p'), pii: KEEP, rows: null, s3: null, partitionBy: ['month'] },
  }
  const lake = (await server?.newLake(join(home, 'lake'))) ?? null
  return await inWarehouse(home, { memoryLimit: MEMORY_LIMIT, bulk: false }, async warehouse => {
    const publications = new Publications(warehouse, place, server?.extensions ?? null)
    const none = (): Measured => ({
      ...{ full: [], delta: [], copy: [], fullProcessor: [], deltaProcessor: [], copyProcessor: [] },
    })
    const measured: Record<Kind, Measured> = { snapshot: none(), parquet: none(), postgres: none(), ducklake: none() }
    const changed = Math.round(rows * SHARE)
    let loads = { alone: 0, beside: 0, walMb: 0 }
    for (let round = 0; round < rounds; round++) {
      const isPeak = round === 0
      const timed = async (target: TargetConfig, refill: boolean) => {
        await settleDisk()
        const taken = await publications.publish(target, { refill, isPeak })
        const of = measured[target.type]
        of[refill ? 'full' : 'delta'].push(taken.seconds)
        of[refill ? 'fullProcessor' : 'deltaProcessor'].push(taken.processor)
      }
      await timed(snapshot, true)
      if (lake) await timed(lake, true)
      log(`load of ${changed} random: ${rounded(await changes.load(warehouse, 'random', changed))} s`)
      await settleDisk()
      const copied = await seconds(() => durableCopy(snapshot.path, join(home, 'copy')))
      await rm(join(home, 'copy'))
      await timed(snapshot, false)
      measured.snapshot.delta[round]! -= copied
      log(`  copy of its file: ${rounded(copied)} s`)
      if (lake) await timed(lake, false)
      await timed(parquet, true)
      log(`load of ${changed} of the newest month: ${rounded(await changes.load(warehouse, 'newest', changed))} s`)
      await timed(parquet, false)
      if (round === 0) {
        const refill = () => publications.publish(snapshot, { refill: true, isPeak })
        loads = await besideLoads(warehouse, { place, changes }, refill)
      }
      for (const target of [snapshot, parquet]) {
        const before = await processorSeconds()
        const taken = await plainCopy(warehouse, place, { target, partitioned: target.type === 'parquet' })
        measured[target.type].copy.push(taken)
        const processor = (await processorSeconds()) - before
        measured[target.type].copyProcessor.push(processor)
        const by = target.type === 'parquet' ? ' by month' : ''
        log(`COPY${by}: ${rounded(taken)} s (processor ${rounded(processor)} s)`)
      }
      // Last, because the server works on by itself.
      const postgres = (await server?.newTarget()) ?? null
      if (postgres) {
        await timed(postgres, true)
        await settleServer(server!)
        log(`load of ${changed} random: ${rounded(await changes.load(warehouse, 'random', changed))} s`)
        await timed(postgres, false)
      }
    }
    const deltaRatio = (kind: Kind) => roundedOrNull(ratio(measured[kind].delta, measured[kind].full), 3)
    const processorRatio = (kind: Kind) =>
      roundedOrNull(ratio(measured[kind].deltaProcessor, measured[kind].fullProcessor), 3)
    const overCopy = (kind: 'snapshot' | 'parquet') => ratio(measured[kind].full, measured[kind].copy)!
    const processorOverCopy = (kind: 'snapshot' | 'parquet') =>
      rounded(median(measured[kind].fullProcessor) / median(measured[kind].copyProcessor))
    const taken = (kind: Kind, what: 'full' | 'delta') =>
      measured[kind][what].length === 0 ? null : rounded(median(measured[kind][what]))
    return {
      snapshotDeltaRatio: deltaRatio('snapshot'),
      parquetDeltaRatio: deltaRatio('parquet'),
      postgresDeltaRatio: deltaRatio('postgres'),
      ducklakeDeltaRatio: deltaRatio('ducklake'),
      ducklakeOverCopy: roundedOrNull(
        server ? median(measured.ducklake.full) / median(measured.snapshot.copy) : null,
        2,
      ),
      fullOverCopy: rounded(Math.max(overCopy('snapshot') / 3, overCopy('parquet') / 1.5)),
      peakMb: rounded(publications.peak / MIB, 0),
      snapshotProcessorRatio: processorRatio('snapshot'),
      parquetProcessorRatio: processorRatio('parquet'),
      postgresProcessorRatio: processorRatio('postgres'),
      snapshotOverCopy: rounded(overCopy('snapshot')),
      parquetOverCopy: rounded(overCopy('parquet')),
      snapshotProcessorOverCopy: processorOverCopy('snapshot'),
      parquetProcessorOverCopy: processorOverCopy('parquet'),
      snapshotSeconds: taken('snapshot', 'full'),
      parquetSeconds: taken('parquet', 'full'),
      postgresSeconds: taken('postgres', 'full'),
      ducklakeSeconds: taken('ducklake', 'full'),
      snapshotDeltaSeconds: taken('snapshot', 'delta'),
      parquetDeltaSeconds: taken('parquet', 'delta'),
      postgresDeltaSeconds: taken('postgres', 'delta'),
      ducklakeDeltaSeconds: taken('ducklake', 'delta'),
      loadMsPerPage: rounded(loads.alone * 1_000, 0),
      loadMsPerPageBeside: rounded(loads.beside * 1_000, 0),
      walMb: rounded(loads.walMb, 0),
      runnable: rounded(loadavg()[1]!, 1),
      rows,
    }
  })
}

/** Builds the warehouse in `home`, or copies the one that an earlier run has kept. */
async function provide(home: string, { records, rows, agents, home: kept }: BenchOptions): Promise<PublishedPlace> {
  const few = Math.min(records, Math.ceil(rows / 10))
  const source = await landExport(home, { records: few, agents })
  const place = { home, source, copies: Math.round(rows / source.records) }
  const file = warehouseFile(home)
  const keptFile = kept === null ? null : join(kept, `${rows}-${few}-${agents}.duckdb`)
  if (keptFile === null || !existsSync(keptFile)) {
    const taken = await seconds(() => build(place))
    log(`the warehouse was built in ${rounded(taken, 0)} s and has ${rounded((await stat(file)).size / MIB, 0)} MB`)
    if (keptFile !== null) {
      await mkdir(kept!, { recursive: true })
      await copyFile(file, `${keptFile}.next`)
      await rename(`${keptFile}.next`, keptFile)
    }
  } else {
    await mkdir(dirname(file), { recursive: true })
    await copyFile(keptFile, file)
  }
  return place
}

export const publishBench = (options: BenchOptions): Promise<Record<string, number | null>> =>
  inFolder(async home => {
    const server = await benchServer()
    try {
      return await measure(await provide(home, options), options, server)
    } finally {
      await server?.remove()
    }
  })
