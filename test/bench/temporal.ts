// Overhead of Temporal: the time of `sync --on temporal`, with a running worker and dev server, divided by that of `sync`, for the same 2,000
// pages; with a vendor that answers at once, and one that takes 100 ms. Each sync is a new process with an empty data folder; the two hosts
// take turns.
import { join } from 'node:path'
import { type DevServer, startDevServer } from '../../src/run/temporal/server/dev-server.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { type Process, startCommand } from '../faults/started-command.ts'
import { NO_REFRESH, TOKEN, TOKEN_ENV, temporaryFolder, writeConfig } from '../scene.ts'
import { obtainTemporal } from '../temporal-cli.ts'
import { type BenchOptions, median, rounded } from './measure.ts'

const PAGES = 2_000
/** Twice as many agents as are read concurrently, so that no loop is idle before the end. */
const AGENTS = 8
const SETTINGS = { requestsPerHour: 1_000_000, ...NO_REFRESH }

type Host = 'embedded' | 'temporal'
const HOSTS: readonly Host[] = ['embedded', 'temporal']

interface Scene {
  sandbox: Sandbox
  server: DevServer
  pageSize: number
}

interface Report {
  kind: string
  outcome: string
  pages: number
}

/** Seconds of one sync, from the start of its process to its end. */
async function secondsOf(host: Host, { sandbox, server, pageSize }: Scene): Promise<number> {
  const { folder, remove } = await temporaryFolder()
  const place = { url: sandbox.url, home: join(folder, 'data') }
  const config = await writeConfig(folder, { ...place, workspace: { ...SETTINGS, pageSize } })
  const env = { ...TOKEN_ENV, TEMPORAL_ADDRESS: server.address }
  const begin = (...args: string[]): Process => startCommand([...args, '--config', config], env)
  const worker = host === 'temporal' ? begin('worker') : null
  try {
    await worker?.said('worker (all) for ')
    const begun = performance.now()
    const on = host === 'temporal' ? ['--on', 'temporal'] : []
    const { code, stdout, stderr } = await begin('sync', '--yes', '--json', ...on).ended
    const taken = (performance.now() - begun) / 1_000
    const report = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as Report
    if (code !== 0 || report.outcome !== 'done' || report.pages < PAGES)
      throw new Error(`the sync (${host}) ended with ${code}: ${JSON.stringify(report)} ${stderr}`)
    return taken
  } finally {
    worker?.kill('SIGTERM')
    await worker?.ended
    await remove()
  }
}

/** Median of Temporal divided by median of embedded. */
async function ratioAt(latencyMs: number, options: BenchOptions, server: DevServer): Promise<number> {
  const pageSize = Math.min(100, Math.max(1, Math.round(options.records / PAGES)))
  const sandbox = await startSandbox({
    port: 0,
    token: TOKEN,
    conversations: Math.round(PAGES * pageSize * 1.1),
    arrivalsPerDay: 0,
    agents: AGENTS,
    limits: false,
    latencyMs,
  })
  const taken: Record<Host, number[]> = { embedded: [], temporal: [] }
  try {
    for (let round = 0; round < options.rounds; round++) {
      // The hosts alternate in going first, because the first sync finds the sandbox's cache empty.
      const order = round % 2 === 0 ? HOSTS : [...HOSTS].reverse()
      for (const host of order) taken[host].push(await secondsOf(host, { sandbox, server, pageSize }))
      const last = HOSTS.map(host => `${host} ${rounded(taken[host].at(-1)!, 1)} s`)
      console.log(`${latencyMs} ms, pages of ${pageSize}, round ${round + 1}: ${last.join(', ')}`)
    }
    return median(taken.temporal) / median(taken.embedded)
  } finally {
    await sandbox.close()
  }
}

export async function temporalBench(options: BenchOptions): Promise<Record<string, number>> {
  const { folder, remove } = await temporaryFolder()
  const server = await startDevServer({ command: await obtainTemporal(), file: join(folder, 'temporal.db') })
  try {
    const ratioAt0ms = rounded(await ratioAt(0, options, server))
    return { ratioAt0ms, ratioAt100ms: rounded(await ratioAt(100, options, server)) }
  } finally {
    await server.stop()
    await remove()
  }
}
