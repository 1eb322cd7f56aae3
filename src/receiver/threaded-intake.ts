// The receiver's intake: the main thread handles the fast path and sends ambiguous bodies to two worker threads, one for large bodies and one
// for small ones, so that a large body delays no small one. Bodies of one turn of the event loop are sent in one message.
import { Worker } from 'node:worker_threads'
import type { SpoolCommit } from '../spool/spool.ts'
import type { WorkspaceSecrets } from './authenticate.ts'
import { type Intake, type IntakeOptions, openIntake } from './intake.ts'
import type { IntakeResult, Refusal } from './refusals.ts'

/** The compiled worker. The relative path is valid both from this file's compiled form and from the command's bundle. */
const WORKER = new URL('../receiver/intake-worker.js', import.meta.url)
const LARGE_BYTES = 256 * 1024
/** With more unanswered bodies than this, a message is delayed so that more bodies fit into it. */
const BUSY_BODIES = 32
const BUSY_DELAY_MS = 1
/** Hostile bodies may exhaust a worker's memory; the worker then exits and is replaced. */
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }

/**
 * A message to a worker. Numbers and lengths of bodies are sent as typed arrays, because transferring an object per event took longer than
 * processing the event.
 */
export interface ToWorker {
  /** Number of the first body; the following ones are numbered consecutively. */
  first: number
  /** All bodies, concatenated. */
  bytes: Uint8Array<ArrayBuffer>
  lengths: Uint32Array
  /** The workspaces in the bodies' URLs; null where no URL names one. */
  addressed: (string | null)[] | null
  /** Set where the secrets have changed: those that are valid from this message on. */
  secrets?: readonly WorkspaceSecrets[]
  close?: true
}

/** A message from a worker. */
export interface FromWorker {
  /** Numbers of stored bodies. Bodies are numbered consecutively for as long as the receiver runs. */
  kept: Float64Array
  refused: [number: number, refusal: Refusal][]
  commits: SpoolCommit[]
  openSegments: number
  isClosed?: true
}

interface IntakeWorker {
  take(body: readonly Uint8Array[], addressed: string | null): Promise<IntakeResult>
  setSecrets(workspaces: readonly WorkspaceSecrets[]): void
  open(): number
  close(): Promise<void>
}

interface Waiting {
  chunks: readonly Uint8Array[]
  length: number
  addressed: string | null
  answer: (result: IntakeResult) => void
}

const lengthOf = (chunks: readonly Uint8Array[]): number => chunks.reduce((sum, chunk) => sum + chunk.length, 0)

const EMPTY_MESSAGE = (): Pick<ToWorker, 'bytes' | 'lengths' | 'addressed'> => ({
  bytes: new Uint8Array(),
  lengths: new Uint32Array(),
  addressed: null,
})

function startWorker({ onCommit, ...given }: IntakeOptions): IntakeWorker {
  let options = given
  let waiting: Waiting[] = []
  let unanswered = new Map<number, (result: IntakeResult) => void>()
  let count = 0
  let open = 0
  let closed: (() => void) | undefined
  let worker: Worker | undefined

  function answer(number: number, result: IntakeResult): void {
    unanswered.get(number)?.(result)
    unanswered.delete(number)
  }

  function receive({ kept, refused, commits, openSegments, isClosed }: FromWorker): void {
    open = openSegments
    for (const commit of commits) onCommit?.(commit)
    for (const number of kept) answer(number, 'kept')
    for (const [number, refusal] of refused) answer(number, refusal)
    if (isClosed) closed?.()
  }

  /** Refuses the bodies that the worker had not answered when it exited. */
  function exited(): void {
    const lost = unanswered
    unanswered = new Map()
    worker = undefined
    open = 0
    for (const answer of lost.values()) answer('too-busy')
    closed?.()
  }

  function started(): Worker {
    const fresh = new Worker(WORKER, { workerData: options, resourceLimits: LIMITS })
    fresh.on('message', receive)
    // Errors need no handling, because `exit` follows each of them.
    fresh.on('error', () => {}).once('exit', exited)
    return fresh
  }

  function post(message: Omit<ToWorker, 'first'>): void {
    worker ??= started()
    worker.postMessage({ first: count, ...message } satisfies ToWorker, [message.bytes.buffer])
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
    for (const { answer } of bodies) unanswered.set(count++, answer)
  }

  /** Under load, waits for more bodies: posting a message costs half as much as parsing a body. */
  function sendSoon(): void {
    if (unanswered.size > BUSY_BODIES) setTimeout(send, BUSY_DELAY_MS)
    else setImmediate(send)
  }

  return {
    take: (chunks, addressed) =>
      new Promise(answer => {
        if (waiting.push({ chunks, length: lengthOf(chunks), addressed, answer }) === 1) sendSoon()
      }),
    setSecrets(workspaces) {
      // Sends the waiting bodies first: they are authenticated with the earlier secrets.
      send()
      options = { ...options, workspaces }
      if (worker) post({ ...EMPTY_MESSAGE(), secrets: workspaces })
    },
    open: () => open,
    close: () =>
      new Promise(resolve => {
        closed = resolve
        if (!worker) return resolve()
        post({ ...EMPTY_MESSAGE(), close: true })
      }),
  }
}

/** Copies the chunks into one buffer of their own, because small buffers share a pool and cannot be transferred. */
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
  const [large, small] = [startWorker(options), startWorker(options)]
  const workerFor = (body: readonly Uint8Array[]) => (lengthOf(body) > LARGE_BYTES ? large : small)
  return {
    take: (body, addressed) => own.takeFast(body, addressed) ?? workerFor(body).take(body, addressed),
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
