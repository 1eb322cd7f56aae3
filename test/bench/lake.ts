// A lake after many small publications: of how many files its newest version consists, and what its readers notice of publications and
// compaction: first as usual, then with the lowest priority for both processes of a publication. The catalog is in PostgreSQL, as for several readers.
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LakeTarget } from '../../src/config/targets.ts'
import { HOUR } from '../../src/core/time.ts'
import { publish } from '../../src/publish/publish.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { extensionFolder } from '../bi/extensions.ts'
import { CATALOG, readLake, startReader } from './lake/read-lake.ts'
import { landExport } from './landed-export.ts'
import { type BenchOptions, median, p95, rounded, seconds } from './measure.ts'
import { Changes } from './publish/changes.ts'
import { build, inWarehouse, type Place, WAREHOUSE } from './publish/place.ts'
import { type BenchServer, benchServer } from './publish/server.ts'

/** Conversations that change between two publications. */
const CHANGED = 20

/** The reader alone, with the files of that moment, each time that files are counted. */
const IDLE_MS = 5_000

/** A publication follows another after three seconds instead of 15 minutes: the defaults of a target, in proportion. */
const HURRY = 300

/** Every so many publications, files are counted and printed. */
const COUNTED = 25

/** Files of the newest version: of data, and of deletions. */
async function filesOf({ rows }: BenchServer): Promise<number> {
  const count = (table: string) => `(SELECT count(*) FROM ${CATALOG}.${table} WHERE end_snapshot IS NULL)`
  return Number((await rows(`SELECT ${count('ducklake_data_file')} + ${count('ducklake_delete_file')}`))[0]![0])
}

/** As `nice -n 19` does when a process starts: processes and threads begin with the priority of the one that starts them. */
function lowerPriority(): void {
  for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), 19)
}

interface Scene {
  place: Place
  server: BenchServer
  publications: number
}

async function measure(warehouse: Warehouse, { place, server, publications }: Scene) {
  const target: LakeTarget = {
    ...(await readLake(server, join(place.home, 'lake'))),
    keepVersionsMs: (48 * HOUR) / HURRY,
    keepFilesMs: HOUR / HURRY,
  }
  const changes = new Changes(place)
  const settings = { everyMs: 900_000, memoryLimit: '512MB', threads: WAREHOUSE.threads, extensions: extensionFolder() }
  const once = async () => {
    await refreshMarts(warehouse.writer)
    const report = await publish({ warehouse, home: place.home, target, settings })
    if (report.unmaintained) console.error(report.unmaintained)
  }
  await once()
  const reader = await startReader(server)
  try {
    const idle = await reader.idle(IDLE_MS)
    const times: number[] = []
    const during = { normal: [] as number[], lowered: [] as number[] }
    let most = 0
    for (let number = 1; number <= publications; number++) {
      await changes.load(warehouse, 'random', CHANGED)
      const half = number <= publications / 2 ? during.normal : during.lowered
      const published = await reader.during(() => seconds(once))
      times.push(published.result)
      half.push(...published.times)
      if (number === Math.ceil(publications / 2)) lowerPriority()
      if (number % COUNTED !== 0 && number !== publications) continue
      idle.push(...(await reader.idle(IDLE_MS)))
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
    reader.stop()
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
