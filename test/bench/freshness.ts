// Delay of a webhook event from its acknowledgement until its value is in each target: a receiver, an embedded host that applies events and
// publishes, and readers that look for a new state as dashboards could. Publications follow each other at once, so `publish.every` adds
// nothing: at its value, a change waits until that time has passed since the beginning of the publication before.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readlink, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance } from '@duckdb/node-api'
import { request } from 'undici'
import { openApp } from '../../src/app.ts'
import type { ParquetTarget, SnapshotTarget } from '../../src/config/targets.ts'
import { readConfig } from '../../src/config.ts'
import { startIngest } from '../../src/run/ingest.ts'
import { publicationText, publishHere, startPublishing } from '../../src/run/publishing.ts'
import { Draw } from '../../src/sandbox/world/random.ts'
import { until } from '../until.ts'
import { landExport } from './landed-export.ts'
import { type BenchOptions, median, rounded } from './measure.ts'
import { build } from './publish/place.ts'
import { benchServer, KEEP } from './publish/server.ts'
import { SECRET } from './webhooks/bodies.ts'

const cli = fileURLToPath(new URL('../../src/cli/convohouse.cjs', import.meta.url))

const EVENTS = 12

/** Publications are looked for this often by the host, so events are sent at any moment of the interval. */
const INTERVAL_MS = 5_000

/** The conversation that the events are about. */
const AGENT = 'agent'
const CONVERSATION = 'freshness'
const VALUE = `SELECT user_name FROM conversations WHERE conversation_id = '${CONVERSATION}'`

/** Reads the value that a target has now; null: nothing new since the last call. */
type Look = () => Promise<unknown>

async function valueIn(path: string, sql: string): Promise<unknown> {
  const instance = await DuckDBInstance.create(path, {
    threads: '1',
    ...(path !== ':memory:' && { access_mode: 'READ_ONLY' }),
  })
  const connection = await instance.connect()
  try {
    return (await connection.runAndReadAll(sql)).getRowsJson()[0]?.[0] ?? null
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

/** Reads only if `stateOf` has changed. */
function onChange(stateOf: () => Promise<unknown>, read: () => Promise<unknown>): Look {
  let last: unknown = null
  return async () => {
    const state = await stateOf().catch(() => null)
    if (state === last) return null
    last = state
    return read()
  }
}

/** Starts a receiver; returns its address. */
async function receiver(env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [cli, 'receive', '--port', '0', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const { port } = JSON.parse(line) as { port: number }
  return { child, url: `http://127.0.0.1:${port}/webhooks` }
}

async function send(url: string, userName: string): Promise<void> {
  const body = JSON.stringify({
    ...{ event: 'conversation_updated', createdAt: Date.now(), workspaceSecret: SECRET, agentId: AGENT },
    ...{ convoId: CONVERSATION, operation: 'updated', lightConvoData: { ID: CONVERSATION, userName } },
  })
  const answer = await request(url, { method: 'POST', body })
  await answer.body.dump()
  if (answer.statusCode !== 200) throw new Error(`an event was answered with ${answer.statusCode}`)
}

interface Delays {
  median: number
  p95: number
}

function delaysOf(values: readonly number[]): Delays {
  const sorted = [...values].sort((a, b) => a - b)
  return { median: rounded(median(sorted), 0), p95: sorted[Math.ceil(sorted.length * 0.95) - 1]! }
}

async function measure(url: string, looks: Record<string, Look>): Promise<Record<string, Delays>> {
  const delays = Object.fromEntries(Object.keys(looks).map(name => [name, [] as number[]]))
  const draw = new Draw(1, 0, 0)
  // The first event does not count: its publications write the targets from empty.
  for (let event = 0; event <= EVENTS; event++) {
    const value = `event ${event}`
    await send(url, value)
    const acknowledgedMs = Date.now()
    const seen = async ([name, look]: [string, Look]) => {
      const delay = await until(async () => {
        const nowMs = Date.now()
        return (await look()) === value && nowMs - acknowledgedMs
      })
      if (event > 0) delays[name]!.push(delay)
    }
    await Promise.all(Object.entries(looks).map(seen))
    const last = Object.entries(delays).map(([name, all]) => `${name} ${all.at(-1) ?? 'not counted'}`)
    console.error(`${value}: ${last.join(', ')}`)
    await sleep(draw.unit() * INTERVAL_MS)
  }
  return Object.fromEntries(Object.entries(delays).map(([name, all]) => [name, delaysOf(all)]))
}

export async function freshnessBench({
  records,
  agents,
}: BenchOptions): Promise<Record<string, Delays | number | null>> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  const releases: (() => Promise<unknown>)[] = [() => rm(home, { recursive: true, force: true })]
  try {
    const source = await landExport(home, { records, agents })
    await build({ home, source, copies: 1 })
    const server = await benchServer()
    if (server) releases.push(server.remove)
    const snapshot: SnapshotTarget = {
      name: 's',
      type: 'snapshot',
      path: join(home, 's.duckdb'),
      pii: KEEP,
      rows: null,
    }
    const parquet: ParquetTarget = {
      ...{ name: 'p', type: 'parquet', path: join(home, 'p'), pii: KEEP, rows: null, s3: null, partitionBy: ['month'] },
    }
    const postgres = (await server?.newTarget()) ?? null
    const env = {
      ...process.env,
      ...{ CONVOHOUSE_API_URL: 'http://127.0.0.1:9', CONVOHOUSE_API_TOKEN: 'token', CONVOHOUSE_HOME: home },
      ...{ CONVOHOUSE_WORKSPACE: source.workspaceId, CONVOHOUSE_WEBHOOK_SECRET: SECRET },
    }
    const config = {
      ...readConfig({ env, cwd: home }),
      ...{ threads: 2, extensions: server?.extensions ?? null, publish: { everyMs: 1, memoryLimit: '512MB' } },
      targets: [snapshot, parquet, ...(postgres ? [postgres] : [])],
    }
    const { child, url } = await receiver(env)
    releases.push(async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    })
    const app = await openApp({ config })
    releases.push(() => app.close())
    const ingesting = startIngest({ config, app, failing: (_, failure) => failure && console.error(failure.what) })
    releases.push(() => ingesting.end())
    const publishing = startPublishing({
      ...{ config, app, publishTo: publishHere({ config, app }) },
      failing: (...news) => console.error(publicationText(...news)),
    })
    releases.push(() => publishing.end())
    const conversations = join(parquet.path, 'current', 'conversations')
    const inParquet = VALUE.replace('conversations', `read_parquet('${conversations}/**/*.parquet')`)
    const inPostgres = postgres && VALUE.replace('conversations', `${postgres.schema}.conversations`)
    const looks = {
      snapshotMs: onChange(
        async () => (await stat(snapshot.path)).ino,
        () => valueIn(snapshot.path, VALUE),
      ),
      parquetMs: onChange(
        () => readlink(join(parquet.path, 'current')),
        () => valueIn(':memory:', inParquet),
      ),
      ...(inPostgres && {
        postgresMs: async () => (await server!.rows(inPostgres).catch(() => []))[0]?.[0] ?? null,
      }),
    }
    const found = await measure(url, looks)
    return { ...found, ...(!postgres && { postgresMs: null }), conversations: source.records, events: EVENTS }
  } finally {
    for (const release of releases.reverse()) await release()
  }
}
