// Reads the body of a request, no further than is allowed for one, and for all that are read at once.
import type { IncomingMessage } from 'node:http'
import type { Refusal } from './refusals.ts'

export interface BodyLimits {
  /** One body. */
  maxBytes: number
  /** All bodies that are read or taken in at once. */
  maxBytesAtOnce: number
}

/** What all bodies hold at the moment. */
export class BodyMemory {
  private held = 0
  readonly limits: BodyLimits

  constructor(limits: BodyLimits) {
    this.limits = limits
  }

  hold(bytes: number): boolean {
    if (this.held + bytes > this.limits.maxBytesAtOnce) return false
    this.held += bytes
    return true
  }

  release(bytes: number): void {
    this.held -= bytes
  }
}

export type ReadBody = { chunks: Buffer[]; release: () => void } | { refused: Refusal }

/** Why a body is not even begun to be read: it says itself how long it is. */
export function refusedByHead(request: IncomingMessage, { maxBytes }: BodyLimits): Refusal | null {
  return Number(request.headers['content-length'] ?? 0) > maxBytes ? 'too-large' : null
}

/** Tells the body, or why it is not read on; nothing, where the sender hangs up. Whoever has the body releases it. */
export function readBody(request: IncomingMessage, memory: BodyMemory, tell: (body: ReadBody) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  let isOver = false
  const release = () => memory.release(bytes)
  const refuse = (refused: Refusal) => {
    isOver = true
    request.off('data', onData)
    release()
    tell({ refused })
  }
  const onData = (chunk: Buffer) => {
    if (!memory.hold(chunk.length)) return refuse('too-busy')
    bytes += chunk.length
    if (bytes > memory.limits.maxBytes) return refuse('too-large')
    chunks.push(chunk)
  }
  request.on('data', onData)
  request.on('end', () => {
    if (isOver) return
    isOver = true
    tell({ chunks, release })
  })
  // It comes after the end, too. An error is none of ours, and closes.
  request.on('close', () => {
    if (!isOver) release()
    isOver = true
  })
}
