// Measures the receiver: durable events acknowledged per second, compared with a minimal Node server that appends and syncs with the same
// group commit; the latency of acknowledgements at a thousand events per second; and the receiver's peak memory while senders without a
// secret post bodies of 8 MB beside two hundred events per second, of which none may be refused. Receiver, load and disk share the machine.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CLI, environment, inFolder, serving } from './command.ts'
import { type BenchOptions, median, rounded } from './measure.ts'
import { statusOf } from './publish/peaks.ts'
import { SECRET } from './webhooks/bodies.ts'

const script = (name: string): string => join(import.meta.dirname, 'webhooks', `${name}.js`)
const STEADY_SECONDS = 6
/** Warm-up: a server compiles code in its first seconds, which do not matter because real servers run for months. */
const WARMING_SECONDS = 3
/** Turns per round: both servers run and are measured alternately, because disk and machine vary from one second to the next. */
const TURNS = 4
const TURN_SECONDS = 2
const CONNECTIONS = 256
const AT_RATE = 1_000
const HOSTILE_SECONDS = 12
const HOSTILE_CONNECTIONS = 100
const BESIDE_HOSTILE: Offered = { connections: 16, rate: 200 }

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

async function load(port: number, seconds: number, { connections, rate }: Offered): Promise<Load> {
  const args = [port, seconds, connections, rate].map(String)
  const { stdout } = await execute(process.execPath, [script('load'), ...args])
  const result = JSON.parse(stdout) as Load
  if (result.refused > 0) throw new Error(`${result.refused} events were refused`)
  return result
}

const receiver = <T>(work: (port: number, pid: number) => Promise<T>): Promise<T> =>
  inFolder(home => {
    const env = { ...environment({ home }), CONVOHOUSE_WEBHOOK_SECRET: SECRET }
    return serving([CLI, 'receive', '--port', '0', '--json'], env, work)
  })

const plain = <T>(work: (port: number) => Promise<T>): Promise<T> =>
  inFolder(folder => serving([script('plain-server'), join(folder, 'appended')], {}, work))

const print = (what: string, { eventsPerSecond, p50Ms, p99Ms }: Load): void =>
  console.log(`${what}: ${rounded(eventsPerSecond, 0)} events/s, p50 ${rounded(p50Ms)} ms, p99 ${rounded(p99Ms)} ms`)

const FASTEST: Offered = { connections: CONNECTIONS, rate: 0 }
const STEADY: Offered = { connections: 64, rate: AT_RATE }

interface Turn {
  ours: Load
  bare: Load
}

/** Measures the two servers in turn, each first in half of the turns. */
async function turns(ports: { ours: number; bare: number }): Promise<Turn[]> {
  for (const port of [ports.ours, ports.bare]) await load(port, WARMING_SECONDS, FASTEST)
  const taken: Turn[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    const measured: Partial<Turn> = {}
    for (const which of turn % 2 === 0 ? (['ours', 'bare'] as const) : (['bare', 'ours'] as const))
      measured[which] = await load(ports[which], TURN_SECONDS, FASTEST)
    const { ours, bare } = measured as Turn
    print('receiver', ours)
    print('plain   ', bare)
    taken.push({ ours, bare })
  }
  return taken
}

async function steady(port: number): Promise<Load> {
  await load(port, WARMING_SECONDS, STEADY)
  const result = await load(port, STEADY_SECONDS, STEADY)
  print(`receiver at ${AT_RATE}/s`, result)
  return result
}

/** Returns the peak resident set of the receiver, MB; 0 except on Linux. @throws if an event is refused */
async function besideHostile(port: number, pid: number): Promise<number> {
  const hostile = execute(process.execPath, [
    script('hostile'),
    ...[port, HOSTILE_SECONDS, HOSTILE_CONNECTIONS].map(String),
  ])
  print('receiver beside hostile senders', await load(port, HOSTILE_SECONDS - 4, BESIDE_HOSTILE))
  const peakMb = (await statusOf(pid, 'VmHWM')) / 1e6
  await hostile
  console.log(`receiver beside hostile senders: ${rounded(peakMb, 0)} MB at most`)
  return peakMb
}

/** Prints medians over the turns of all rounds; ratios are computed per turn. */
export async function webhooksBench({ rounds }: BenchOptions): Promise<Record<string, number>> {
  const taken: Turn[] = []
  const p99sMs: number[] = []
  const peaksMb: number[] = []
  for (let round = 1; round <= rounds; round++) {
    taken.push(...(await receiver(ours => plain(bare => turns({ ours, bare })))))
    p99sMs.push((await receiver(steady)).p99Ms)
    peaksMb.push(await receiver(besideHostile))
  }
  return {
    eventsPerSecond: rounded(median(taken.map(({ ours }) => ours.eventsPerSecond)), 0),
    p99MsAt1k: rounded(median(p99sMs)),
    hostilePeakMb: rounded(Math.max(...peaksMb), 0),
    ratioToPlain: rounded(median(taken.map(({ ours, bare }) => ours.eventsPerSecond / bare.eventsPerSecond))),
  }
}
