// Intakes in threads of their own, so that the one that reads requests does nothing else, and a body of megabytes holds up no
// small one: there is a lane for each. Bodies of one turn of the event loop go over in one message.
import { Worker } from 'node:worker_threads'
import type { Intake, IntakeOptions } from './intake.ts'
import type { FromLane, ToLane } from './lane-messages.ts'
import type { Verdict } from './refusals.ts'

/** Compiled, it lies at the same place seen from its neighbour and from the bundle of the command. */
const WORKER = new URL('../receiver/intake-worker.js', import.meta.url)
const LARGE_BYTES = 256 * 1024
/** Hostile bodies may need much memory; then the lane ends, and begins anew. */
const LIMITS = { maxOldGenerationSizeMb: 512 }

interface Lane {
  take(body: readonly Uint8Array[], addressed: string | null): Promise<Verdict>
  open(): number
  close(): Promise<void>
}

interface Waiting {
  chunks: readonly Uint8Array[]
  length: number
  addressed: string | null
  answer: (verdict: Verdict) => void
}

const lengthOf = (chunks: readonly Uint8Array[]): number => chunks.reduce((sum, chunk) => sum + chunk.length, 0)

function startLane({ onCommit, ...options }: IntakeOptions): Lane {
  let waiting: Waiting[] = []
  let asked = new Map<number, (verdict: Verdict) => void>()
  let count = 0
  let open = 0
  let closed: (() => void) | undefined
  let worker: Worker | undefined

  function hear({ verdicts, commits, openSegments, isClosed }: FromLane): void {
    open = openSegments
    for (const commit of commits) onCommit?.(commit)
    for (const [number, verdict] of verdicts) {
      asked.get(number)?.(verdict)
      asked.delete(number)
    }
    if (isClosed) closed?.()
  }

  /** What it had taken in and not said to be kept is told to have been refused. */
  function lost(): void {
    const unanswered = asked
    asked = new Map()
    worker = undefined
    open = 0
    for (const answer of unanswered.values()) answer('too-busy')
    closed?.()
  }

  function started(): Worker {
    const fresh = new Worker(WORKER, { workerData: options, resourceLimits: LIMITS })
    fresh.on('message', hear)
    // An error is followed by the exit.
    fresh.on('error', () => {}).once('exit', lost)
    return fresh
  }

  function send(): void {
    const bodies = waiting
    waiting = []
    worker ??= started()
    const bytes = joined(bodies.flatMap(({ chunks }) => chunks))
    const heads = bodies.map(({ length, addressed, answer }) => {
      asked.set(++count, answer)
      return { number: count, length, addressed }
    })
    worker.postMessage({ bytes, bodies: heads } satisfies ToLane, [bytes.buffer])
  }

  return {
    take: (chunks, addressed) =>
      new Promise(answer => {
        if (waiting.push({ chunks, length: lengthOf(chunks), addressed, answer }) === 1) setImmediate(send)
      }),
    open: () => open,
    close: () =>
      new Promise(resolve => {
        closed = resolve
        if (!worker) return resolve()
        worker.postMessage({ bytes: new Uint8Array(), bodies: [], close: true } satisfies ToLane)
      }),
  }
}

/** In memory of its own, which can be handed over: that of small buffers is shared. */
function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(lengthOf(chunks))
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}

export function threadedIntake(options: IntakeOptions): Intake {
  const [small, large] = [startLane(options), startLane(options)]
  return {
    take: (body, addressed) => (lengthOf(body) > LARGE_BYTES ? large : small).take(body, addressed),
    openSegments: () => small.open() + large.open(),
    close: async () => {
      await Promise.all([small.close(), large.close()])
    },
  }
}
