// What the receiver takes: events acknowledged a second after their sync, beside a bare Node server that appends and syncs by the
// same group commit; and how long an acknowledgement takes at a thousand a second. Receiver, load and the disk share the machine.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type BenchOptions, median, rounded } from './measure.ts'
import { SECRET } from './webhooks/bodies.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js')
const script = (name: string): string => join(import.meta.dirname, 'webhooks', `${name}.js`)
const SECONDS = 6
/** Before that: servers run for months, and what their first second takes goes into compiling them. */
const WARMING_SECONDS = 3
const CONNECTIONS = 256
const AT_RATE = 1_000

interface Load {
  eventsPerSecond: number
  p50Ms: number
  p99Ms: number
  refused: number
}

const execute = promisify(execFile)

interface Offered {
  connections: number
  rate: number
}

async function load(port: number, offered: Offered): Promise<Load> {
  await loadFor(WARMING_SECONDS, port, offered)
  return loadFor(SECONDS, port, offered)
}

async function loadFor(seconds: number, port: number, { connections, rate }: Offered): Promise<Load> {
  const args = [port, seconds, connections, rate].map(String)
  const { stdout } = await execute(process.execPath, [script('load'), ...args])
  const told = JSON.parse(stdout) as Load
  if (told.refused > 0) throw new Error(`${told.refused} events were refused`)
  return told
}

/** A server that tells its port on its first line, while `work` lasts. */
async function serving(args: readonly string[], env: Record<string, string>, work: (port: number) => Promise<Load>) {
  const server: ChildProcess = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(server.stdout!, 'data')) as [Buffer]
    return await work((JSON.parse(String(line)) as { port: number }).port)
  } finally {
    server.kill('SIGKILL')
    await once(server, 'close')
  }
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const receiver = (work: (port: number) => Promise<Load>): Promise<Load> =>
  inFolder(home => {
    const env = {
      CONVOHOUSE_API_URL: 'http://127.0.0.1:1',
      CONVOHOUSE_API_TOKEN: 'none',
      CONVOHOUSE_WORKSPACE: 'ws_bench',
      CONVOHOUSE_HOME: home,
      CONVOHOUSE_WEBHOOK_SECRET: SECRET,
    }
    return serving([MAIN, 'receive', '--port', '0', '--json'], env, work)
  })

const plain = (work: (port: number) => Promise<Load>): Promise<Load> =>
  inFolder(folder => serving([script('plain-server'), join(folder, 'appended')], {}, work))

const tell = (what: string, { eventsPerSecond, p50Ms, p99Ms }: Load): void =>
  console.log(`${what}: ${rounded(eventsPerSecond, 0)} events/s, p50 ${rounded(p50Ms)} ms, p99 ${rounded(p99Ms)} ms`)

/** Medians of rounds: each measures the receiver and the bare server one after the other. */
export async function webhooksBench({ rounds }: BenchOptions): Promise<Record<string, number>> {
  const fastest = (port: number) => load(port, { connections: CONNECTIONS, rate: 0 })
  const measured: { events: number; ratio: number; p99Ms: number }[] = []
  for (let round = 1; round <= rounds; round++) {
    const ours = await receiver(fastest)
    tell('receiver', ours)
    const bare = await plain(fastest)
    tell('plain   ', bare)
    const steady = await receiver(port => load(port, { connections: 64, rate: AT_RATE }))
    tell(`receiver at ${AT_RATE}/s`, steady)
    measured.push({
      events: ours.eventsPerSecond,
      ratio: ours.eventsPerSecond / bare.eventsPerSecond,
      p99Ms: steady.p99Ms,
    })
  }
  return {
    eventsPerSecond: rounded(median(measured.map(({ events }) => events)), 0),
    p99MsAt1k: rounded(median(measured.map(({ p99Ms }) => p99Ms))),
    ratioToPlain: rounded(median(measured.map(({ ratio }) => ratio))),
  }
}
