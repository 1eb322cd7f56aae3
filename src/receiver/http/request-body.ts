// Reads the body of a request, as far as there is room for it.
import type { IncomingMessage } from 'node:http'
import type { Refusal } from '../refusals.ts'
import type { BodyLimits, BodyMemory, HeldBody } from './body-memory.ts'

export type ReadBody = { chunks: Buffer[]; release: () => void } | { refused: Refusal }

/** Why a body is not even begun to be read: it says itself how long it is. */
export function refusedByHead(request: IncomingMessage, { maxBytes }: BodyLimits): Refusal | null {
  return Number(request.headers['content-length'] ?? 0) > maxBytes ? 'too-large' : null
}

export interface BodyReader {
  memory: BodyMemory
  /** True where a valid secret is among what has come of a body. */
  isAuthentic: (chunks: readonly Buffer[]) => boolean
  /** Told the body, or why it is not read on; nothing, where the sender hangs up. Whoever has the body releases it. */
  tell: (body: ReadBody) => void
}

export function readBody(request: IncomingMessage, { memory, isAuthentic, tell }: BodyReader): void {
  const chunks: Buffer[] = []
  let bytes = 0
  let isOver = false
  let provenAt = 0
  let isProven = false
  const body: HeldBody = {
    address: request.socket.remoteAddress ?? '',
    connection: request.socket,
    beganMs: performance.now(),
    isWhole: false,
    isAuthentic() {
      if (!isProven && chunks.length > provenAt) isProven = isAuthentic(chunks)
      provenAt = chunks.length
      return isProven
    },
    drop: refuse,
  }
  const release = () => memory.release(body)
  function refuse(refused: Refusal): void {
    isOver = true
    request.off('data', onData)
    chunks.length = 0
    release()
    tell({ refused })
  }
  function onData(chunk: Buffer): void {
    bytes += chunk.length
    if (bytes > memory.limits.maxBytes) refuse('too-large')
    else if (memory.hold(body, chunk.length)) chunks.push(chunk)
  }
  request.on('data', onData)
  request.on('end', () => {
    if (isOver) return
    isOver = true
    body.isWhole = true
    tell({ chunks, release })
  })
  // It comes after the end, too. An error is none of ours, and closes.
  request.on('close', () => {
    if (!isOver) release()
    isOver = true
  })
}
