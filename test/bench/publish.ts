// Publications of a large warehouse to each kind of target: what 1 % of changes costs compared with a full publication, a full publication
// compared with the plain COPY of the same rows, and the peak memory of both processes.
//
// The real code loads a tenth of the conversations, SQL copies them over 24 months. Changes are landed and loaded by the real code: random
// conversations for targets that replace rows, conversations of the newest month for partitions. Marts are brought up to date before a
// publication is timed, as the end of a sync does. Personal data is kept, which is the most data.
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RECORD_NUMBER } from '../../src/catalog/ddl.ts'
import { quoteName } from '../../src/catalog/layout.ts'
import type { TargetConfig } from '../../src/config/targets.ts'
import { DEFAULT_MEMORY_LIMITS } from '../../src/config.ts'
import { openWindow } from '../../src/core/planning/windows.ts'
import type { PublicationReport } from '../../src/core/publication-report.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { quotedTable, valuesAs } from '../../src/publish/package-rows.ts'
import { partitionColumns } from '../../src/publish/partitions.ts'
import { publish } from '../../src/publish/publish.ts'
import { type SelectedRelation, selectionFor } from '../../src/publish/selection.ts'
import { Draw } from '../../src/sandbox/world/random.ts'
import { partitionOf } from '../../src/warehouse/changes/published-tables.ts'
import { loadPages } from '../../src/warehouse/load/load.ts'
import type { LoadablePage, LoadContext } from '../../src/warehouse/load/load-input.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import { openWarehouse, type Warehouse, warehouseFile } from '../../src/warehouse/open.ts'
import { temporaryFolder } from '../../src/warehouse/temporary-files.ts'
import { EXPORTED_AT_MS, type LandedExport, landExport, PAGE, pageOf } from './landed-export.ts'
import { type BenchOptions, median, rounded, seconds } from './measure.ts'
import { copyId, monthsBack, multiply } from './multiplied.ts'

const MONTHS = 24
const SHARE = 0.01

/** Defaults of the configuration, on two cores. */
const WAREHOUSE = { memoryLimit: DEFAULT_MEMORY_LIMITS.memoryLimit, threads: 2 }
const TARGET = { everyMs: 900_000, memoryLimit: '512MB', threads: 2, extensions: null }

/** For the COPY that publications are compared with: it shall not be slow for want of memory. */
const PLENTY = '6GB'

const MIB = 2 ** 20

const KEEP = { identity: 'keep', staff: 'keep', device: 'keep', content: 'keep' } as const

const log = (text: string): void => console.error(text)

interface Place {
  home: string
  source: LandedExport
  copies: number
}

const contextOf = ({ writer }: Warehouse, { home, source: { workspaceId } }: Place): LoadContext => {
  const landing = openLanding(home).workspace(workspaceId)
  return {
    ...{ writer, workspaceId, timeZone: 'UTC', mirrorLagMs: 0, temporaryFolder: temporaryFolder(home) },
    ...{ readBody: landing.body, pageFiles: landing.files, verifyChecksums: landing.verifyChecksums, now: Date.now },
  }
}

async function inWarehouse<T>(
  home: string,
  settings: { memoryLimit: string; bulk: boolean },
  work: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const warehouse = await openWarehouse({ home, ...WAREHOUSE, ...settings })
  return work(warehouse).finally(() => warehouse.close())
}

const build = (place: Place): Promise<void> =>
  inWarehouse(place.home, { memoryLimit: '2GB', bulk: true }, async warehouse => {
    const { source, home, copies } = place
    const landing = openLanding(home).workspace(source.workspaceId)
    const pages: LoadablePage[] = []
    for (const { address } of await landing.list()) pages.push({ address, head: await landing.head(address) })
    await loadPages(contextOf(warehouse, place), pages)
    await multiply(warehouse.writer, { source: source.records, from: 1, to: copies - 1, months: MONTHS })
    await refreshMarts(warehouse.writer)
  })

interface Document extends Record<string, unknown> {
  ID: string
  ts: number
}

type Order = 'random' | 'newest'

/** Replaces documents of the source, and of their copies. */
class Changes {
  readonly #place: Place
  readonly #documents: { agentId: string; documents: Document[] }[]
  readonly #draw = new Draw(3, 0, 0)
  #loads = 0

  constructor(place: Place) {
    this.#place = place
    const { source } = place
    const byAgent = new Map<string, Document[]>()
    for (const [index, body] of source.bodies.entries()) {
      const { data } = JSON.parse(body.toString()) as { data: Document[] }
      byAgent.set(source.agents[index]!, [...(byAgent.get(source.agents[index]!) ?? []), ...data])
    }
    this.#documents = [...byAgent].map(([agentId, documents]) => ({ agentId, documents }))
  }

  #below(n: number): number {
    return Math.floor(this.#draw.unit() * n)
  }

  /** Lands a page: random documents of random copies, or of the newest month, whose copies are not moved back. */
  async #land(order: Order, records: number): Promise<LoadablePage> {
    const { home, source, copies } = this.#place
    this.#loads += 1
    const openedAtMs = EXPORTED_AT_MS + this.#loads * 1_000
    const { agentId, documents } = this.#documents[this.#loads % this.#documents.length]!
    const month = new Date(EXPORTED_AT_MS - 1)
    const newestMs = Date.UTC(month.getUTCFullYear(), month.getUTCMonth())
    const drawn = order === 'random' ? documents : documents.filter(({ ts }) => ts >= newestMs)
    const kept = Array.from({ length: copies }, (_, copy) => copy).filter(
      copy => copy > 0 && (order === 'random' || monthsBack(copy, MONTHS) === 0),
    )
    const texts = Array.from({ length: records }, () => {
      const document = drawn[this.#below(drawn.length)]!
      const id = kept.length === 0 ? document.ID : copyId(document.ID, kept[this.#below(kept.length)]!)
      return JSON.stringify({ ...document, ID: id, lastModified: openedAtMs, messagesNum: this.#loads })
    })
    const toSec = Math.floor(openedAtMs / 1_000)
    const window = openWindow({ agentId, kind: 'full', fromSec: null, toSec, openedAtMs })
    const { head, body } = pageOf(texts, { window, sequence: 1, hasMore: false })
    const landing = openLanding(home).workspace(source.workspaceId)
    return { address: await landing.land(head, body), head }
  }

  /** @returns seconds that the load took */
  async load(warehouse: Warehouse, order: Order, records: number): Promise<number> {
    const pages: LoadablePage[] = []
    for (let left = records; left > 0; left -= PAGE) pages.push(await this.#land(order, Math.min(PAGE, left)))
    return seconds(async () => {
      const { inserted } = await loadPages(contextOf(warehouse, this.#place), pages)
      if (inserted > 0) throw new Error(`${inserted} conversations were new`)
    })
  }
}

const statusOf = async (pid: string | number, field: string): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1_024
}

async function childProcesses(): Promise<string[]> {
  const threads = await readdir('/proc/self/task')
  const lists = await Promise.all(
    threads.map(thread => readFile(`/proc/self/task/${thread}/children`, 'utf8').catch(() => '')),
  )
  return lists.flatMap(list => list.split(' ').filter(Boolean))
}

interface Peaks {
  own: number
  child: number
}

/** Peak resident sets of this process and of its children while `work` runs. */
async function withPeaks<T>(work: () => Promise<T>): Promise<{ result: T; peaks: Peaks }> {
  await writeFile('/proc/self/clear_refs', '5').catch(() => {})
  let isRunning = true
  let child = 0
  const watching = (async () => {
    while (isRunning) {
      for (const pid of await childProcesses()) child = Math.max(child, await statusOf(pid, 'VmHWM'))
      await sleep(50)
    }
  })()
  try {
    const result = await work()
    return { result, peaks: { own: await statusOf('self', 'VmHWM'), child } }
  } finally {
    isRunning = false
    await watching
  }
}

/** Processor time of this process and of its children that have ended, s. */
async function processorSeconds(): Promise<number> {
  const [, fields = ''] = (await readFile('/proc/self/stat', 'utf8')).split(') ')
  const ticks = fields.split(' ').slice(11, 15).map(Number)
  return ticks.reduce((sum, one) => sum + one, 0) / 100
}

interface Timed {
  seconds: number
  report: PublicationReport
  peaks: Peaks
}

async function timedPublication(
  warehouse: Warehouse,
  { home }: Place,
  options: { target: TargetConfig; refill: boolean },
): Promise<Timed> {
  await refreshMarts(warehouse.writer)
  let report!: PublicationReport
  const before = await processorSeconds()
  const { result, peaks } = await withPeaks(() =>
    seconds(async () => {
      report = await publish({ warehouse, home, settings: TARGET, ...options })
    }),
  )
  const { kind, rows } = report
  log(
    `${options.target.type} ${kind}: ${rounded(result)} s (processor ${rounded((await processorSeconds()) - before)} s), ${rows.toLocaleString('en')} rows; peak ${rounded(peaks.own / MIB, 0)} MB, of the target's process ${rounded(peaks.child / MIB, 0)} MB`,
  )
  if (options.refill !== (kind === 'refill')) throw new Error(`the publication was ${kind}: ${report.reason}`)
  return { seconds: result, report, peaks }
}

/** SELECT of the rows of a table as they are published, with their month where `isPartitioned`. */
function published(relation: SelectedRelation, isPartitioned: boolean): string {
  const { name, published: of, columns, values } = relation
  const names = columns.map(column => column.name)
  const isChild = name !== of.table
  const month = isPartitioned ? `, strftime(${partitionOf(of, isChild ? 'r' : 't')}, '%Y-%m') AS month` : ''
  const record =
    isPartitioned && isChild
      ? `JOIN ${of.table} r ON r.${quoteName(RECORD_NUMBER.name)} = t.${quoteName(RECORD_NUMBER.name)}`
      : ''
  return `SELECT ${valuesAs(values, names)}${month} FROM ${quotedTable(name)} t ${record}`
}

/** Seconds that the same rows take in one COPY per table, without packages and processes. */
async function plainCopy(
  warehouse: Warehouse,
  { home }: Place,
  { target, partitioned }: { target: TargetConfig; partitioned: boolean },
): Promise<number> {
  const folder = join(home, 'copied')
  const { relations } = await selectionFor(warehouse.writer, { target, key: null })
  const connection = await warehouse.instance.connect()
  await connection.run(`SET memory_limit = '${PLENTY}'`)
  await mkdir(folder)
  try {
    return await seconds(async () => {
      for (const relation of relations) {
        const record = relations.find(({ name }) => name === relation.published.table)!
        const isPartitioned = partitioned && partitionColumns(record, ['month']).length > 0
        const options = isPartitioned ? 'ROW_GROUP_SIZE 8192, PARTITION_BY (month)' : 'ROW_GROUP_SIZE 20480'
        await connection.run(
          `COPY (${published(relation, isPartitioned)}) TO '${join(folder, relation.name)}' (FORMAT parquet, COMPRESSION zstd, ${options})`,
        )
      }
    })
  } finally {
    await connection.run(`SET memory_limit = '${WAREHOUSE.memoryLimit}'`)
    connection.closeSync()
    await rm(folder, { recursive: true })
  }
}

/** Loads pages while `work` runs, and before it. */
async function besideLoads(
  warehouse: Warehouse,
  { place, changes }: { place: Place; changes: Changes },
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
  return { alone: median(alone), beside: median(beside), walMb: wal / MIB }
}

interface Measured {
  full: number[]
  delta: number[]
  copy: number[]
}

export async function publishBench(options: BenchOptions): Promise<Record<string, number | null>> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  try {
    const records = Math.min(options.records, Math.ceil(options.rows / 10))
    const source = await landExport(home, { records, agents: options.agents })
    const place = { home, source, copies: Math.round(options.rows / source.records) }
    const changes = new Changes(place)
    await build(place)
    const snapshot: TargetConfig = { name: 's', type: 'snapshot', path: join(home, 's.duckdb'), pii: KEEP, rows: null }
    const parquet: TargetConfig = {
      ...{ name: 'p', type: 'parquet', path: join(home, 'p'), pii: KEEP, rows: null, partitionBy: ['month'] },
    }
    return await inWarehouse(home, { memoryLimit: WAREHOUSE.memoryLimit, bulk: false }, async warehouse => {
      const measured: Record<'snapshot' | 'parquet', Measured> = {
        snapshot: { full: [], delta: [], copy: [] },
        parquet: { full: [], delta: [], copy: [] },
      }
      let peak = 0
      const changed = Math.round(options.rows * SHARE)
      const publication = async (target: TargetConfig, refill: boolean) => {
        const timed = await timedPublication(warehouse, place, { target, refill })
        peak = Math.max(peak, timed.peaks.child, measured.parquet.copy.length === 0 ? timed.peaks.own : 0)
        return timed.seconds
      }
      for (const target of [snapshot, parquet]) await publication(target, true)
      const loads = await besideLoads(warehouse, { place, changes }, () => publication(snapshot, true))
      for (let round = 0; round < options.rounds; round++) {
        measured.snapshot.full.push(await publication(snapshot, true))
        measured.parquet.full.push(await publication(parquet, true))
        await changes.load(warehouse, 'random', changed)
        const copied = await seconds(() => copyFile(snapshot.path, join(home, 'copy')))
        measured.snapshot.delta.push((await publication(snapshot, false)) - copied)
        await publication(parquet, false)
        await changes.load(warehouse, 'newest', changed)
        measured.parquet.delta.push(await publication(parquet, false))
        await publication(snapshot, false)
        for (const [type, target] of Object.entries({ snapshot, parquet })) {
          const before = await processorSeconds()
          const taken = await plainCopy(warehouse, place, { target, partitioned: type === 'parquet' })
          measured[type as 'snapshot' | 'parquet'].copy.push(taken)
          log(
            `COPY${type === 'parquet' ? ' by month' : ''}: ${rounded(taken)} s (processor ${rounded((await processorSeconds()) - before)} s)`,
          )
        }
      }
      const of = (type: 'snapshot' | 'parquet', what: keyof Measured) => median(measured[type][what])
      const overCopy = (type: 'snapshot' | 'parquet') => of(type, 'full') / of(type, 'copy')
      return {
        snapshotDeltaRatio: rounded(of('snapshot', 'delta') / of('snapshot', 'full'), 3),
        parquetDeltaRatio: rounded(of('parquet', 'delta') / of('parquet', 'full'), 3),
        postgresDeltaRatio: null,
        fullOverCopy: rounded(Math.max(overCopy('snapshot') / 3, overCopy('parquet') / 1.5)),
        peakMb: rounded(peak / MIB, 0),
        snapshotOverCopy: rounded(overCopy('snapshot')),
        parquetOverCopy: rounded(overCopy('parquet')),
        snapshotSeconds: rounded(of('snapshot', 'full'), 1),
        parquetSeconds: rounded(of('parquet', 'full'), 1),
        snapshotDeltaSeconds: rounded(of('snapshot', 'delta')),
        parquetDeltaSeconds: rounded(of('parquet', 'delta')),
        loadMsPerPage: rounded(loads.alone * 1_000, 0),
        loadMsPerPageBeside: rounded(loads.beside * 1_000, 0),
        walMb: rounded(loads.walMb, 0),
        rows: options.rows,
      }
    })
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
