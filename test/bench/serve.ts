// Measures `convohouse serve` over a large snapshot: the processor time of a page of eight metrics, of all its processes together; the
// waits of 32 users who ask for pages with different filters at once; and the rows per second that a client takes as Arrow and Parquet.
//
// With `--home FOLDER` the warehouse and its snapshot are kept there, and a later run with the same options starts from a copy.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { tableFromIPC } from 'apache-arrow'
import { serveConfig } from '../../src/config/serve.ts'
import { DAY } from '../../src/core/time.ts'
import { publish } from '../../src/publish/publish.ts'
import { CLI, environment, inFolder, serving } from './command.ts'
import { EXPORTED_AT_MS } from './landed-export.ts'
import { type BenchOptions, median, rounded } from './measure.ts'
import { inWarehouse } from './place.ts'
import { childProcesses } from './publish/peaks.ts'
import { keptAt, keptFile, LONGEST_MS, MEMORY_LIMIT, provide, SETTINGS } from './publish/place.ts'

const USERS = 32
const PAGES = 20
/** A server compiles code in its first pages, which do not matter because real servers run for months. */
const WARMING = 10
/** Times that each page is asked for again. */
const AGAIN = 5

const METRICS = [
  'conversations',
  'automation_rate',
  'resolution_rate',
  'time_to_resolution_median',
  'handoff_wait_median',
  'csat_score',
  'tokens_usd',
  'backlog_open',
]

const COLUMNS =
  'workspace_id, agent_id, conversation_id, channel, day, started_at, duration_seconds, outcome, messages, tokens_usd'

/** Publishes the snapshot that `serve` keeps by itself, with its own policy. */
async function publishOwn(options: BenchOptions, home: string): Promise<void> {
  const { target } = serveConfig(undefined, { home, targets: [], source: '' })
  await inFolder(async folder => {
    await provide(folder, options)
    await inWarehouse(folder, { memoryLimit: MEMORY_LIMIT, bulk: false }, warehouse =>
      publish({ warehouse, home: folder, target, settings: { ...SETTINGS, extensions: null }, longestMs: LONGEST_MS }),
    )
  })
}

/** Returns the processor time that the process and its children have used, ms. */
async function processorMs(pid: string | number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // Behind the name, which may contain spaces. Linux counts in hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const children = await Promise.all((await childProcesses(pid)).map(processorMs))
  return children.reduce((sum, ms) => sum + ms, 10 * (Number(fields[11]) + Number(fields[12])))
}

interface Server {
  post(path: string, body: object, accept?: string): Promise<Buffer>
  processorMs(): Promise<number>
}

const serverAt = (port: number, pid: number): Server => ({
  async post(path, body, accept = 'application/json') {
    const headers = { 'Content-Type': 'application/json', Accept: accept }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      ...{ method: 'POST', headers, body: JSON.stringify(body) },
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${bytes}`)
    return bytes
  },
  processorMs: () => processorMs(pid),
})

type Filters = Record<string, string[]>

/** Returns different filters: each combination of agents with each of channels. */
async function filtersOf({ post }: Server): Promise<Filters[]> {
  const [agents, channels] = await Promise.all(
    ['agent_id', 'channel'].map(async column => {
      const sql = `SELECT DISTINCT ${column} AS value FROM marts.fct_conversations ORDER BY ALL`
      const { rows } = JSON.parse(String(await post('/v1/query', { sql }))) as { rows: { value: string }[] }
      return subsets(rows.map(({ value }) => value))
    }),
  )
  return agents!.flatMap(agent => channels!.map(channel => ({ agent, channel })))
}

/** Returns all subsets but the empty one. */
const subsets = (values: readonly string[]): string[][] =>
  Array.from({ length: 2 ** values.length - 1 }, (_, at) => values.filter((_, bit) => ((at + 1) >> bit) & 1))

/** Returns page `at`: eight metrics of four weeks by day, compared with the four before. No two pages have the same weeks. */
function pageOf(filters: readonly Filters[], at: number): object {
  const dayOf = (ago: number) => new Date(EXPORTED_AT_MS - (ago + at) * DAY).toISOString().slice(0, 10)
  const period = { from: dayOf(28), to: dayOf(1) }
  const query = { metrics: METRICS, period, filters: filters[at % filters.length], grain: 'day', compare: true }
  return { queries: [query] }
}

const askPage = (server: Server, page: object) => server.post('/v1/metrics/query', page)

/** Returns the processor time of a page, ms. */
async function pageMs(server: Server, pages: readonly object[]): Promise<number> {
  const before = await server.processorMs()
  for (const page of pages) await askPage(server, page)
  return ((await server.processorMs()) - before) / pages.length
}

/** Returns how long each user waits, all at once, ms. */
const waitsMs = (server: Server, pages: readonly object[]): Promise<number[]> =>
  Promise.all(
    pages.map(async page => {
      const begunMs = performance.now()
      await askPage(server, page)
      return performance.now() - begunMs
    }),
  )

/** Returns the rows per second in a format. @throws if not all rows arrive */
async function rowsPerSecond(server: Server, accept: string, count: (bytes: Buffer) => Promise<number>) {
  const sql = `SELECT ${COLUMNS} FROM marts.fct_conversations`
  const begunMs = performance.now()
  const bytes = await server.post('/v1/query', { sql, maxRows: 10_000_000 }, accept)
  const taken = (performance.now() - begunMs) / 1_000
  const [rows, all] = [await count(bytes), await countAll(server)]
  if (rows !== all) throw new Error(`${rows} of ${all} rows arrived as ${accept}`)
  return rows / taken
}

async function countAll({ post }: Server): Promise<number> {
  const body = await post('/v1/query', { sql: 'SELECT count(*)::INTEGER AS n FROM marts.fct_conversations' })
  return (JSON.parse(String(body)) as { rows: [{ n: number }] }).rows[0].n
}

const countParquet = (bytes: Buffer): Promise<number> =>
  inFolder(async folder => {
    const file = join(folder, 'answer.parquet')
    await writeFile(file, bytes)
    const connection = await (await DuckDBInstance.create()).connect()
    return Number((await connection.runAndReadAll(`SELECT count(*) FROM '${file}'`)).getRows()[0]![0])
  })

async function measure(server: Server, { rounds }: BenchOptions): Promise<Record<string, number>> {
  const filters = await filtersOf(server)
  let asked = 0
  const next = (count: number) => Array.from({ length: count }, () => pageOf(filters, asked++))
  await pageMs(server, next(WARMING))
  const measured = { page: [] as number[], cached: [] as number[], arrow: [] as number[], parquet: [] as number[] }
  const waits: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const pages = next(PAGES)
    measured.page.push(await pageMs(server, pages))
    measured.cached.push(await pageMs(server, Array.from({ length: AGAIN }, () => pages).flat()))
    waits.push(...(await waitsMs(server, next(USERS))))
    const arrow = async (bytes: Buffer) => tableFromIPC(bytes).numRows
    measured.arrow.push(await rowsPerSecond(server, 'application/vnd.apache.arrow.stream', arrow))
    measured.parquet.push(await rowsPerSecond(server, 'application/vnd.apache.parquet', countParquet))
    console.error(`round ${round}: ${Object.entries(measured).map(([name, all]) => `${name} ${rounded(all.at(-1)!)}`)}`)
  }
  const p95 = waits.sort((a, b) => a - b)[Math.ceil(0.95 * waits.length) - 1]!
  return {
    pageCpuMs: rounded(median(measured.page), 1),
    cachedPageCpuMs: rounded(median(measured.cached), 1),
    concurrent32P95Ms: rounded(p95, 0),
    arrowRowsPerSecond: rounded(median(measured.arrow), 0),
    parquetRowsPerSecond: rounded(median(measured.parquet), 0),
  }
}

/** Publishes the snapshot of `home`, or copies the one that an earlier run has kept. */
export async function provideSnapshot(home: string, options: BenchOptions): Promise<void> {
  const { path } = serveConfig(undefined, { home, targets: [], source: '' }).target
  await keptFile(path, keptAt(options, '.snapshot.duckdb'), () => publishOwn(options, home))
}

export const serveBench = (options: BenchOptions): Promise<Record<string, number>> =>
  inFolder(async home => {
    await provideSnapshot(home, options)
    // The folder has no warehouse, so `serve` publishes nothing meanwhile.
    return serving([CLI, 'serve', '--address', '127.0.0.1:0', '--json'], environment({ home }), (port, pid) =>
      measure(serverAt(port, pid), options),
    )
  })
