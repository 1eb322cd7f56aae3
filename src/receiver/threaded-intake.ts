// The intake of a receiver: the thread that reads requests takes in what is quick, and hands over what is in doubt to threads of their
// own, so that no body holds up another for long. A body of megabytes holds up no small one: there is a lane for each. Bodies of one
// turn of the event loop go over in one message.
import { Worker } from 'node:worker_threads'
import type { WorkspaceSecrets } from './authenticate.ts'
import { type Intake, type IntakeOptions, openIntake } from './intake.ts'
import type { FromLane, ToLane } from './lane-messages.ts'
import type { IntakeResult } from './refusals.ts'

/** Compiled, it lies at the same place seen from its neighbour and from the bundle of the command. */
const WORKER = new URL('../receiver/intake-worker.js', import.meta.url)
const LARGE_BYTES = 256 * 1024
const TOGETHER = 32
const TOGETHER_MS = 1
/** Hostile bodies may need much memory; then the lane ends, and begins anew. */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }

interface Lane {
  take(body: readonly Uint8Array[], addressed: string | null): Promise<IntakeResult>
  setSecrets(workspaces: readonly WorkspaceSecrets[]): void
  open(): number
  close(): Promise<void>
}

interface Waiting {
  chunks: readonly Uint8Array[]
  length: number
  addressed: string | null
  answer: (verdict: IntakeResult) => void
}

const lengthOf = (chunks: readonly Uint8Array[]): number => chunks.reduce((sum, chunk) => sum + chunk.length, 0)

const NOTHING = (): Pick<ToLane, 'bytes' | 'lengths' | 'addressed'> => ({
  bytes: new Uint8Array(),
  lengths: new Uint32Array(),
  addressed: null,
})

function startLane({ onCommit, ...given }: IntakeOptions): Lane {
  let options = given
  let waiting: Waiting[] = []
  let asked = new Map<number, (verdict: IntakeResult) => void>()
  let count = 0
  let open = 0
  let closed: (() => void) | undefined
  let worker: Worker | undefined

  function answer(number: number, verdict: IntakeResult): void {
    asked.get(number)?.(verdict)
    asked.delete(number)
  }

  function hear({ kept, refused, commits, openSegments, isClosed }: FromLane): void {
    open = openSegments
    for (const commit of commits) onCommit?.(commit)
    for (const number of kept) answer(number, 'kept')
    for (const [number, refusal] of refused) answer(number, refusal)
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

  function post(message: Omit<ToLane, 'first'>): void {
    worker ??= started()
    worker.postMessage({ first: count, ...message } satisfies ToLane, [message.bytes.buffer])
  }

  function send(): void {
    const bodies = waiting
    if (bodies.length === 0) return
    waiting = []
    post({
      bytes: joined(bodies.flatMap(({ chunks }) => chunks)),
      lengths: Uint32Array.from(bodies, ({ length }) => length),
      addressed: bodies.some(({ addressed }) => addressed !== null) ? bodies.map(({ addressed }) => addressed) : null,
    })
    for (const { answer } of bodies) asked.set(count++, answer)
  }

  /** Where much is under way, more is waited for: to hand over a message takes as long as to judge half a body. */
  function sendSoon(): void {
    if (asked.size > TOGETHER) setTimeout(send, TOGETHER_MS)
    else setImmediate(send)
  }

  return {
    take: (chunks, addressed) =>
      new Promise(answer => {
        if (waiting.push({ chunks, length: lengthOf(chunks), addressed, answer }) === 1) sendSoon()
      }),
    setSecrets(workspaces) {
      // What came before is judged as it was then.
      send()
      options = { ...options, workspaces }
      if (worker) post({ ...NOTHING(), admitted: workspaces })
    },
    open: () => open,
    close: () =>
      new Promise(resolve => {
        closed = resolve
        if (!worker) return resolve()
        post({ ...NOTHING(), close: true })
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
  const own = openIntake(options)
  const [large, small] = [startLane(options), startLane(options)]
  const lane = (body: readonly Uint8Array[]) => (lengthOf(body) > LARGE_BYTES ? large : small)
  return {
    take: (body, addressed) => own.takeFast(body, addressed) ?? lane(body).take(body, addressed),
    isAuthentic: own.isAuthentic,
    workspaceOf: own.workspaceOf,
    canWrite: own.canWrite,
    setSecrets(workspaces) {
      for (const each of [own, large, small]) each.setSecrets(workspaces)
    },
    openSegments: () => own.openSegments() + large.open() + small.open(),
    close: async () => {
      await Promise.all([own.close(), large.close(), small.close()])
    },
  }
}
