// Delay of a webhook event from its acknowledgement until SQL sees it, while a sync runs: real processes (sandbox, receiver, sync in watch
// mode), events of 8 KB at a fixed rate, and a reader that works like `convohouse query`. All share the machine.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { queryHolder } from '../../src/warehouse/query/http/holder-client.ts'
import { CLI, environment, inFolder, WORKSPACE } from './command.ts'
import { Stages, type Waited } from './events/stages.ts'
import { rounded } from './measure.ts'
import { eventBodies, SECRET } from './webhooks/bodies.ts'

const EVENTS_PER_SECOND = 80
const SECONDS = 30
/** Number of conversations that the events are about; each has many events. */
const CONVERSATIONS = 500
/** More conversations than a sync can read during the benchmark. */
const EXPORTED = 100_000
const LATENCY = '100ms'
const TIMEOUT_MS = 60_000

/** Starts a process that prints its address on its first line. */
async function serving(
  children: ChildProcess[],
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ url: string; port: number }> {
  const child = spawn(process.execPath, [CLI, ...args, '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string]
  return JSON.parse(line) as { url: string; port: number }
}

async function exported(home: string): Promise<number> {
  const sql = 'SELECT count(*)::INTEGER FROM conversations WHERE _complete'
  const result = await queryHolder({ home, sql, timeoutMs: 10_000 }).catch(() => null)
  if (result === null) return 0
  for await (const { columns } of result.batches) return Number(columns[0]![0])
  return 0
}

async function until(isSo: () => Promise<boolean> | boolean, what: string): Promise<void> {
  const endMs = Date.now() + TIMEOUT_MS
  while (!(await isSo())) {
    if (Date.now() > endMs) throw new Error(`${what}: not within ${TIMEOUT_MS / 1_000} s`)
    await sleep(100)
  }
}

/** Sends each event when it is due, even if earlier events have no answer yet. */
async function send(url: string, stages: Stages, fromMs: number): Promise<void> {
  const bodies = eventBodies(50).map(body => JSON.parse(body.toString()) as Record<string, unknown>)
  const answers: Promise<void>[] = []
  for (let count = 0; count < EVENTS_PER_SECOND * SECONDS; count++) {
    await sleep(fromMs + (count * 1_000) / EVENTS_PER_SECOND - Date.now())
    const createdAt = fromMs + count
    const convoId = `conversation-${count % CONVERSATIONS}`
    const body = JSON.stringify({ ...bodies[count % bodies.length], agentId: 'agent', convoId, createdAt })
    const answered = request(url, { method: 'POST', body }).then(async answer => {
      await answer.body.dump()
      if (answer.statusCode !== 200) throw new Error(`an event was answered with ${answer.statusCode}`)
      stages.at(createdAt).acknowledgedMs = Date.now()
    })
    answers.push(answered)
  }
  await Promise.all(answers)
}

/** Calls the function repeatedly until it is stopped. */
function repeat(work: () => Promise<void>, everyMs: number): () => Promise<void> {
  let isOver = false
  const repeated = (async () => {
    while (!isOver) {
      await work()
      await sleep(everyMs)
    }
  })()
  return async () => {
    isOver = true
    await repeated
  }
}

function quantiles(
  events: readonly Waited[],
  from: keyof Waited,
  to: keyof Waited,
): { p50: number; p95: number; most: number } {
  const delays = events.flatMap(event =>
    event[from] === undefined || event[to] === undefined ? [] : [event[to] - event[from]],
  )
  const sorted = delays.sort((a, b) => a - b)
  const at = (share: number) =>
    rounded((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN) / 1_000)
  return { p50: at(0.5), p95: at(0.95), most: at(1) }
}

async function measure(home: string, url: string): Promise<Record<string, number>> {
  await until(async () => (await exported(home)) > 0, 'first rows')
  const before = await exported(home)
  const fromMs = Date.now()
  const stages = new Stages(home, WORKSPACE)
  const stops = [repeat(() => stages.checkSpool(), 20), repeat(() => stages.checkTables(fromMs), 100)]
  await send(url, stages, fromMs)
  const after = await exported(home)
  const events = () => [...stages.events.values()]
  await until(() => events().every(({ seenMs }) => seenMs !== undefined), 'all events in SQL')
  for (const stop of stops) await stop()
  console.log(JSON.stringify({ exportedMeanwhile: after - before, ofAll: EXPORTED }))
  const waits = [
    ['acknowledged until sealed', 'acknowledgedMs', 'sealedMs'],
    ['sealed until its transaction writes', 'sealedMs', 'begunMs'],
    ['in the transaction, until a reader sees it', 'begunMs', 'seenMs'],
  ] as const
  for (const [stage, from, to] of waits) console.log(JSON.stringify({ stage, ...quantiles(events(), from, to) }))
  const { p50, p95 } = quantiles(events(), 'acknowledgedMs', 'seenMs')
  return { p50Seconds: p50, p95Seconds: p95, events: events().length }
}

export const eventsBench = (): Promise<Record<string, number>> =>
  inFolder(async home => {
    const children: ChildProcess[] = []
    try {
      const flags = ['--port', '0', '--no-limits', '--conversations', String(EXPORTED), '--latency', LATENCY]
      const { url: apiUrl } = await serving(children, ['sandbox', ...flags], process.env)
      const env = { ...environment({ home, url: apiUrl }), CONVOHOUSE_WEBHOOK_SECRET: SECRET }
      const { port } = await serving(children, ['receive', '--port', '0'], env)
      children.push(
        spawn(process.execPath, [CLI, 'sync', '--watch', '1h', '--yes', '--json'], {
          env,
          stdio: ['ignore', 'ignore', 'inherit'],
        }),
      )
      return await measure(home, `http://127.0.0.1:${port}/webhooks`)
    } finally {
      for (const child of children.reverse()) {
        child.kill('SIGKILL')
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      }
    }
  })
