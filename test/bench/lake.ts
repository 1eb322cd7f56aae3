// A lake after many small publications: of how many files its newest version consists, and what its readers notice of publications and
// compaction: with the priority of any process, and with a lower one (docs/publishing.md). The catalog is in PostgreSQL, as for several readers.
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { LakeTarget, PostgresTarget } from '../../src/config/targets.ts'
import { publish } from '../../src/publish/publish.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { extensionFolder } from '../bi/extensions.ts'
import { landExport } from './landed-export.ts'
import { type BenchOptions, median, rounded, seconds } from './measure.ts'
import { Changes } from './publish/changes.ts'
import { build, inWarehouse, type Place, WAREHOUSE } from './publish/place.ts'
import { type BenchServer, benchServer, KEEP } from './publish/server.ts'

/** Conversations that change between two publications. */
const CHANGED = 20

/** The reader alone, with the files of that moment, each time that files are counted. */
const IDLE_MS = 5_000

const HOUR_MS = 3_600_000

/** A publication follows another after three seconds instead of 15 minutes: the defaults of a target, in proportion. */
const HURRY = 300

/** Every so many publications, files are counted and printed. */
const COUNTED = 25

const lakeOf = (home: string, { connection, passwordFile }: PostgresTarget): LakeTarget => ({
  ...{ name: 'lake', type: 'ducklake', pii: KEEP, rows: null, data: join(home, 'lake'), s3: null },
  ...{
    catalog: { type: 'postgres', connection, passwordFile, schema: 'lake' },
    keepVersionsMs: (48 * HOUR_MS) / HURRY,
    keepFilesMs: HOUR_MS / HURRY,
  },
})

/** Files of the newest version: of data, and of deletions. */
async function filesOf({ rows }: BenchServer): Promise<number> {
  const count = (table: string) => `(SELECT count(*) FROM lake.${table} WHERE end_snapshot IS NULL)`
  return Number((await rows(`SELECT ${count('ducklake_data_file')} + ${count('ducklake_delete_file')}`))[0]![0])
}

/** @returns the reader, and a function that takes the times of its answers since the last call (ms) */
function startReader({ port, password }: BenchServer): { child: ChildProcess; taken: () => number[] } {
  const program = fileURLToPath(new URL('lake/reader.js', import.meta.url))
  const address = `ducklake:postgres:host=127.0.0.1 port=${port} dbname=postgres user=admin`
  const env = { ...process.env, PGPASSWORD: password }
  const child = spawn(process.execPath, [program, extensionFolder(), address], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  })
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

/** As `nice -n 19` does when a process starts: processes and threads begin with the priority of the one that starts them. */
function lowerPriority(): void {
  for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), 19)
}

const p95 = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? Number.NaN

interface Scene {
  place: Place
  server: BenchServer
  publications: number
}

async function measure(warehouse: Warehouse, { place, server, publications }: Scene) {
  const target = lakeOf(place.home, await server.newTarget())
  const changes = new Changes(place)
  const settings = { everyMs: 900_000, memoryLimit: '512MB', threads: WAREHOUSE.threads, extensions: extensionFolder() }
  const once = async () => {
    await refreshMarts(warehouse.writer)
    const report = await publish({ warehouse, home: place.home, target, settings })
    if (report.unmaintained) console.error(report.unmaintained)
  }
  await once()
  const { child, taken } = startReader(server)
  try {
    await sleep(IDLE_MS)
    const idle = taken().slice(1)
    const times: number[] = []
    const during = { normal: [] as number[], lowered: [] as number[] }
    let most = 0
    for (let number = 1; number <= publications; number++) {
      await changes.load(warehouse, 'random', CHANGED)
      times.push(await seconds(once))
      const half = number <= publications / 2 ? during.normal : during.lowered
      half.push(...taken())
      if (number === Math.ceil(publications / 2)) lowerPriority()
      if (number % COUNTED !== 0 && number !== publications) continue
      await sleep(IDLE_MS)
      // The first answer may have begun beside the publication.
      idle.push(...taken().slice(1))
      const files = await filesOf(server)
      most = Math.max(most, files)
      console.error(`${number} publications: ${files} files; ${rounded(median(times.slice(-COUNTED)))} s each`)
    }
    return {
      [`lakeFilesAfter${publications}Publications`]: await filesOf(server),
      lakeMostFiles: most,
      lakeReadersRatio: rounded(p95(during.normal) / p95(idle)),
      lakeReadersRatioLowered: rounded(p95(during.lowered) / p95(idle)),
      idleP95Ms: rounded(p95(idle), 0),
      duringP95Ms: rounded(p95(during.normal), 0),
      duringLoweredP95Ms: rounded(p95(during.lowered), 0),
      publicationSeconds: rounded(median(times)),
      slowestPublicationSeconds: rounded(Math.max(...times)),
    }
  } finally {
    child.kill('SIGKILL')
  }
}

export async function lakeBench({ records, agents, publications }: BenchOptions): Promise<Record<string, number>> {
  const server = await benchServer()
  if (server === null) throw new Error('The catalog of the lake is in PostgreSQL.')
  const home = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  try {
    const place = { home, source: await landExport(home, { records, agents }), copies: 1 }
    await build(place)
    const options = { memoryLimit: WAREHOUSE.memoryLimit, bulk: false }
    return await inWarehouse(home, options, warehouse => measure(warehouse, { place, server, publications }))
  } finally {
    await server.remove()
    await rm(home, { recursive: true, force: true })
  }
}
