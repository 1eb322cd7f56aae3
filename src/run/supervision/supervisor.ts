// Supervises the process that holds the warehouse, so that a crash of DuckDB costs a restart of that process and nothing else.
//
//   starting ──holding──▶ holding ──working──▶ working ──crash, any end──▶ waiting (backoff) ──▶ starting …
//      └─────────────────────┴─cannot begin at the first start; asked to stop──▶ ended
//
// However this process ends, the IPC channel closes, and the child then ends too.
import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import { newDeferred } from '../../../workflows/deferred.ts'
import { EXIT_CODES } from '../../core/errors.ts'
import { MINUTE, SECOND } from '../../core/time.ts'
import {
  type ChildMessage,
  DATABASE_INVALIDATED,
  type DrainCounts,
  ERASES,
  type SupervisorMessage,
  type Work,
  type Working,
} from './messages.ts'

interface SupervisorOptions {
  /** The command's entry file, then its arguments. */
  entry: string
  args: readonly string[]
  /** The child's environment and working folder; by default those of this process. */
  place?: { env: NodeJS.ProcessEnv; cwd: string }
  /** True if the child inherits the terminal; otherwise its output goes to `remark`. */
  sharesTerminal?: boolean
  /** True if the child may finish on its own; otherwise it is restarted after any exit. */
  endsByItself?: boolean
  /** Names the child in messages. */
  subject?: string
  /** True if the child is restarted after any exit once it has reported to be ready; by default, once it runs a worker. */
  isRestartedOnceReady?: boolean
  remark(...lines: string[]): void
}

export interface Supervisor {
  /** Resolves with true when the child first holds the warehouse, or with false if it ended before that and reported why. */
  held: Promise<boolean>
  /** Makes the child run a Temporal worker, now and after each restart; resolves when the worker first polls for tasks. */
  work(work: Work): Promise<Working>
  /** Webhook events of a workspace that the child took and applied, summed over restarts. */
  counts(workspaceId: string): DrainCounts
  /** `host:port` of the child's metrics; null while no worker runs. */
  metrics(): string | null
  /** Asks the child to end, without a restart; the second call aborts requests in flight. */
  stop(): void
  /** Resolves with the exit code when the child has ended and is not restarted. */
  ended: Promise<number>
}

const FIRST_PAUSE_MS = SECOND / 4
const LONGEST_PAUSE_MS = 30 * SECOND
/** If the child lived longer than this, the backoff starts over. */
const STABLE_MS = MINUTE
/** Time limit after `stop` for landing and loading data in flight; then the child is killed, which is safe at any moment. */
const END_WITHIN_MS = 9 * SECOND
const QUERIES_SHOWN = 3
/** A child that runs queries and has said nothing for this time converts or writes a value that is too large. */
const SILENT_S = 60

interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

const isCrash = ({ code, signal }: Exit): boolean => signal !== null || code === DATABASE_INVALIDATED || code === ERASES

const howText = ({ code, signal }: Exit): string =>
  signal
    ? `was ended by ${signal}`
    : code === DATABASE_INVALIDATED
      ? 'ended because DuckDB failed internally'
      : `ended with exit code ${code}`

export function supervise(options: SupervisorOptions): Supervisor {
  const { entry, args, sharesTerminal = false, endsByItself = false, isRestartedOnceReady = false, remark } = options
  const { subject = 'The process that holds the warehouse', place = {} } = options
  const held = newDeferred<boolean>()
  const working = newDeferred<Working>()
  const ended = newDeferred<number>()
  let child: ChildProcess | null = null
  let work: Work | null = null
  let [hasHeld, hasWorked, stopping, pauseMs] = [false, false, false, FIRST_PAUSE_MS]
  let pause: NodeJS.Timeout | undefined
  let metrics: string | null = null
  let before = new Map<string, DrainCounts>()
  let since = new Map<string, DrainCounts>()

  const counts = (workspaceId: string): DrainCounts => {
    const [a, b] = [before.get(workspaceId), since.get(workspaceId)]
    return { taken: (a?.taken ?? 0) + (b?.taken ?? 0), applied: (a?.applied ?? 0) + (b?.applied ?? 0) }
  }

  const send = (message: SupervisorMessage): void => {
    // A child that has just ended cannot receive messages; its `close` event follows.
    if (child?.connected) child.send(message, () => {})
  }

  function finish(code: number): void {
    held.resolve(hasHeld)
    ended.resolve(code)
  }

  function start(): void {
    const begunMs = performance.now()
    const queries = new Map<number, string>()
    let [holds, silentS] = [false, 0]
    const stdio = sharesTerminal ? ('inherit' as const) : ('pipe' as const)
    const started = fork(entry, args, { ...place, stdio: [sharesTerminal ? 'inherit' : 'ignore', stdio, stdio, 'ipc'] })
    child = started
    for (const stream of [started.stdout, started.stderr])
      if (stream) createInterface({ input: stream }).on('line', line => remark(line))
    const listening = setInterval(() => {
      silentS += 1
      if (queries.size > 0 && silentS > SILENT_S) started.kill('SIGKILL')
    }, SECOND).unref()
    started.on('message', (message: ChildMessage) => {
      silentS = 0
      if (message.kind === 'holding') {
        holds = hasHeld = true
        held.resolve(true)
        if (work) send({ kind: 'work', ...work })
      } else if (message.kind === 'working') {
        hasWorked = true
        metrics = message.metrics
        working.resolve(message)
      } else if (message.kind === 'events') since = new Map(message.counts)
      else if (message.sql === null) queries.delete(message.id)
      else queries.set(message.id, message.sql)
    })
    started.on('error', () => {})
    started.once('close', (code, signal) => {
      clearInterval(listening)
      child = null
      metrics = null
      childEnded({ code, signal }, { holds, queries: [...queries.values()], livedMs: performance.now() - begunMs })
    })
  }

  function childEnded(exit: Exit, life: { holds: boolean; queries: string[]; livedMs: number }): void {
    before = new Map([...before.keys(), ...since.keys()].map(id => [id, counts(id)]))
    since = new Map()
    const isOver = isCrash(exit)
      ? !hasHeld
      : endsByItself
        ? life.holds || !hasHeld
        : !(isRestartedOnceReady ? hasHeld : hasWorked)
    // A child that DuckDB keeps from ending is killed. One that ends to erase may be asked to stop, too.
    const code = exit.code === ERASES ? null : exit.code
    if (stopping || isOver) finish(code ?? (stopping ? EXIT_CODES.interrupted : EXIT_CODES.unexpected))
    else startAgain(exit, life)
  }

  function startAgain(exit: Exit, life: { queries: string[]; livedMs: number }): void {
    if (exit.code === ERASES) {
      remark(`${subject} restarts, to erase what \`convohouse forget\` asked for.`)
      start()
      return
    }
    if (life.livedMs > STABLE_MS) pauseMs = FIRST_PAUSE_MS
    const ran = life.queries.slice(-QUERIES_SHOWN).map(sql => `  it was running the query: ${sql}`)
    remark(`${subject} ${howText(exit)}; restarting it in ${pauseMs / SECOND} s. Nothing is lost.`, ...ran)
    pause = setTimeout(start, pauseMs)
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
  }

  start()
  return {
    held: held.promise,
    ended: ended.promise,
    counts,
    metrics: () => metrics,
    work(asked) {
      work = asked
      send({ kind: 'work', ...work })
      return working.promise
    },
    stop() {
      clearTimeout(pause)
      if (child === null) return finish(0)
      send({ kind: 'stop' })
      if (stopping) return
      stopping = true
      const last = child
      const timer = setTimeout(() => last.kill('SIGKILL'), END_WITHIN_MS)
      last.once('close', () => clearTimeout(timer))
    },
  }
}
