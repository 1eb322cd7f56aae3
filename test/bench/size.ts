// Measures the size of a data folder and the duration of `convohouse replay`: the sandbox's traffic of two weeks in simulated
// time, about 5,600 conversations and 29,000 webhook events, with default settings. Reports bytes per conversation in the
// warehouse and beside it (landing, spool, logs). The totals of two releases are comparable, because the seed determines all data.
import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readConfig } from '../../src/config.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { warehouseFile } from '../../src/warehouse/warehouse-file.ts'
import {
  openSimulatedApp,
  type SimulatedApp,
  START_MS,
  TOKEN,
  WORKSPACE,
} from '../workflows/simulated/open-simulated-app.ts'
import { openEventSender } from '../workflows/simulated/simulated-events.ts'
import { CLI, environment } from './command.ts'
import { type BenchOptions, rounded, seconds } from './measure.ts'

const USUAL_DAYS = 14
const SYNC_EVERY_MS = 6 * HOUR
const SANDBOX = {
  agents: 3,
  conversations: 4_040,
  historyDays: 90,
  arrivalsPerDay: 126,
  traffic: true,
  mirrorLagMs: MINUTE,
  quotaSessions: 1_000_000,
} as const

/** Returns the default settings of a workspace, refreshes included. */
function defaultSettings() {
  const env = { CONVOHOUSE_API_URL: 'http://127.0.0.1', CONVOHOUSE_API_TOKEN: 'token', CONVOHOUSE_WORKSPACE: WORKSPACE }
  const { resources, settleMs, quietMs, refreshOn, rereadShare, sampleShare } = readConfig({ env }).workspaces[0]!
  return { resources, settleMs, quietMs, refreshOn, rereadShare, sampleShare }
}

/** Runs the syncs and events of the given number of days. */
async function fill(simulated: SimulatedApp, days: number): Promise<void> {
  const { sandbox } = simulated
  const sender = openEventSender(simulated, { dropped: 0 })
  for (let atMs = START_MS; atMs <= START_MS + days * DAY; atMs += SYNC_EVERY_MS) {
    sandbox.clock.set(atMs)
    if (atMs > START_MS) await sender.send(atMs - SYNC_EVERY_MS, atMs)
    await simulated.drain()
    const { outcome } = await simulated.sync()
    if (outcome !== 'done') throw new Error(`a sync ended as ${outcome}`)
    if ((atMs - START_MS) % DAY === 0) console.error(`day ${(atMs - START_MS) / DAY} of ${days}`)
  }
}

interface FileUsage {
  path: string
  bytes: number
  /** Bytes of the blocks that the file system has allocated. */
  allocated: number
}

/** Unit of `blocks` in Node's file facts. */
const BLOCK_BYTES = 512

/** Lists all files of the folder and its subfolders. */
async function filesOf(folder: string): Promise<FileUsage[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return Promise.all(
    paths.map(async path => {
      const { size, blocks } = await stat(path)
      return { path, bytes: size, allocated: blocks * BLOCK_BYTES }
    }),
  )
}

function usageOf(files: readonly FileUsage[]): { files: number; bytes: number; allocated: number } {
  const sum = (of: (file: FileUsage) => number) => files.reduce((total, file) => total + of(file), 0)
  return { files: files.length, bytes: sum(file => file.bytes), allocated: sum(file => file.allocated) }
}

interface Counts {
  conversations: number
  events: number
  sightings: number
}

const COUNTS = `SELECT (SELECT count(*) FROM conversations)::INTEGER AS conversations,
  (SELECT count(*) FROM webhook_events)::INTEGER AS events, (SELECT count(*) FROM conversation_observations)::INTEGER AS sightings`

/** Returns the seconds of `convohouse replay` as a process, with the old warehouse beside it. */
async function replaySeconds({ config, sandbox }: SimulatedApp, expected: Counts): Promise<number> {
  const env = { ...environment({ home: config.home, url: sandbox.url }), CONVOHOUSE_API_TOKEN: TOKEN }
  const run = (...args: string[]) => promisify(execFile)(process.execPath, [CLI, ...args], { env })
  const taken = await seconds(() => run('replay', '--json'))
  const { stdout } = await run('query', COUNTS, '--format', 'json')
  const [found] = JSON.parse(stdout) as Counts[]
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`the replay made ${JSON.stringify(found)} of ${JSON.stringify(expected)}`)
  return taken
}

export async function sizeBench({ seed, days: asked }: BenchOptions): Promise<Record<string, number>> {
  const days = asked ?? USUAL_DAYS
  const { simulated, end } = await openSimulatedApp({ sandbox: { ...SANDBOX, seed }, settings: defaultSettings() })
  try {
    const filled = await seconds(() => fill(simulated, days))
    const [counts] = await simulated.rows<Counts>(COUNTS)
    await simulated.close()
    const { home } = simulated.config
    const file = warehouseFile(home)
    const isWarehouse = (path: string) => path.startsWith(file)
    const before = await filesOf(home)
    const warehouse = usageOf(before.filter(({ path }) => isWarehouse(path)))
    const beside = usageOf(before.filter(({ path }) => !isWarehouse(path)))
    console.log(JSON.stringify({ ...counts, fillSeconds: rounded(filled), warehouse, beside }))
    for (const part of ['landing', 'spool'])
      console.log(
        JSON.stringify({ part, ...usageOf(before.filter(({ path }) => path.startsWith(`${home}/${part}/`))) }),
      )
    const replayed = await replaySeconds(simulated, counts!)
    const rebuilt = usageOf((await filesOf(home)).filter(({ path }) => isWarehouse(path)))
    const { conversations, events } = counts!
    return {
      warehouseBytesPerConversation: Math.round(warehouse.bytes / conversations),
      diskBytesPerConversation: Math.round(beside.bytes / conversations),
      replaySeconds: rounded(replayed, 1),
      conversations,
      events,
      warehouseBytesPerConversationAfterReplay: Math.round(rebuilt.bytes / conversations),
      diskAllocatedPerConversation: Math.round(beside.allocated / conversations),
    }
  } finally {
    await end()
  }
}
