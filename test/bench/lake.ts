// A lake after many small publications: of how many files its newest version consists, and what its readers notice of publications and
// compaction.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance } from '@duckdb/node-api'
import type { LakeTarget } from '../../src/config/targets.ts'
import { publish } from '../../src/publish/publish.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { EXTENSIONS, extensionFolder } from '../bi/extensions.ts'
import { isInstalled } from '../bi/installed.ts'
import { landExport } from './landed-export.ts'
import { type BenchOptions, median, rounded, seconds } from './measure.ts'
import { Changes } from './publish/changes.ts'
import { build, inWarehouse, type Place, WAREHOUSE } from './publish/place.ts'
import { KEEP } from './publish/server.ts'

/** Conversations that change between two publications. */
const CHANGED = 20

const IDLE_SECONDS = 30

const HOUR_MS = 3_600_000

/** Every so many publications, files are counted and printed. */
const COUNTED = 25

const lakeOf = (home: string): LakeTarget & { catalog: { path: string } } => ({
  ...{ name: 'lake', type: 'ducklake', pii: KEEP, rows: null, data: join(home, 'lake'), s3: null },
  ...{
    catalog: { type: 'sqlite', path: join(home, 'lake.sqlite') },
    keepVersionsMs: 48 * HOUR_MS,
    keepFilesMs: HOUR_MS,
  },
})

async function filesOf({ catalog: { path } }: ReturnType<typeof lakeOf>): Promise<number> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  try {
    for (const name of ['sqlite_scanner', 'ducklake'])
      await connection.run(`LOAD '${extensionFolder()}/${name}.duckdb_extension'`)
    await connection.run(`ATTACH 'ducklake:sqlite:${path}' AS lake (READ_ONLY)`)
    const files = `SELECT sum(file_count + delete_file_count)::INT FROM ducklake_table_info('lake')`
    return (await connection.runAndReadAll(files)).getRowsJson()[0]![0] as number
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** @returns the reader, and a function that takes the times of its answers since the last call (ms) */
function startReader(path: string): { child: ChildProcess; taken: () => number[] } {
  const program = fileURLToPath(new URL('lake/reader.js', import.meta.url))
  const child = spawn(process.execPath, [program, extensionFolder(), path], { stdio: ['ignore', 'pipe', 'inherit'] })
  let times: number[] = []
  createInterface(child.stdout!).on('line', line => times.push(Number(line)))
  return {
    child,
    taken() {
      const taken = times
      times = []
      return taken
    },
  }
}

const p95 = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? Number.NaN

async function measure(warehouse: Warehouse, place: Place, publications: number) {
  const target = lakeOf(place.home)
  const changes = new Changes(place)
  const settings = { everyMs: 900_000, memoryLimit: '512MB', threads: WAREHOUSE.threads, extensions: extensionFolder() }
  const once = async () => {
    await refreshMarts(warehouse.writer)
    const report = await publish({ warehouse, home: place.home, target, settings })
    if (report.unmaintained) console.error(report.unmaintained)
  }
  await once()
  const { child, taken } = startReader(target.catalog.path)
  try {
    await sleep(IDLE_SECONDS * 500)
    const idle = taken().slice(1)
    const times: number[] = []
    let most = 0
    for (let number = 1; number <= publications; number++) {
      await changes.load(warehouse, 'random', CHANGED)
      times.push(await seconds(once))
      if (number % COUNTED !== 0 && number !== publications) continue
      const files = await filesOf(target)
      most = Math.max(most, files)
      console.error(`${number} publications: ${files} files; ${rounded(median(times.slice(-COUNTED)))} s each`)
    }
    const during = taken()
    await sleep(IDLE_SECONDS * 500)
    idle.push(...taken())
    return {
      [`lakeFilesAfter${publications}Publications`]: await filesOf(target),
      lakeMostFiles: most,
      lakeReadersRatio: rounded(p95(during) / p95(idle)),
      idleP95Ms: rounded(p95(idle), 0),
      duringP95Ms: rounded(p95(during), 0),
      publicationSeconds: rounded(median(times)),
      slowestPublicationSeconds: rounded(Math.max(...times)),
    }
  } finally {
    child.kill('SIGKILL')
  }
}

export async function lakeBench({ records, agents, publications }: BenchOptions): Promise<Record<string, number>> {
  if (!isInstalled(EXTENSIONS))
    throw new Error(`${EXTENSIONS.about} is not installed: \`npm run test:bi\` installs it.`)
  const home = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  try {
    const place = { home, source: await landExport(home, { records, agents }), copies: 1 }
    await build(place)
    const options = { memoryLimit: WAREHOUSE.memoryLimit, bulk: false }
    return await inWarehouse(home, options, warehouse => measure(warehouse, place, publications))
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
