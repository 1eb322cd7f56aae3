// Reads the body of a request within the limits of body memory.
import type { IncomingMessage } from 'node:http'
import type { Refusal } from '../refusals.ts'
import type { BodyLimits, BodyMemory, HeldBody } from './body-memory.ts'

export type ReadBody = { chunks: Buffer[]; release: () => void } | { refused: Refusal }

/** Refuses a request by its `Content-Length` before its body is read. */
export function refusedByHead(request: IncomingMessage, { maxBytes }: BodyLimits): Refusal | null {
  return Number(request.headers['content-length'] ?? 0) > maxBytes ? 'too-large' : null
}

interface BodyReader {
  memory: BodyMemory
  /** True where the chunks contain a valid secret. */
  isAuthentic: (chunks: readonly Buffer[]) => boolean
  /** Called with the complete body, which it must release, or with the refusal. Not called if the sender hangs up. */
  done: (body: ReadBody) => void
}

export function readBody(request: IncomingMessage, { memory, isAuthentic, done }: BodyReader): void {
  const chunks: Buffer[] = []
  let bytes = 0
  let isOver = false
  let provenAt = 0
  let isProven = false
  const body: HeldBody = {
    address: request.socket.remoteAddress ?? '',
    connection: request.socket,
    beganMs: performance.now(),
    isComplete: false,
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
    done({ refused })
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
    body.isComplete = true
    done({ chunks, release })
  })
  // `close` is emitted after `end`, too, and after a network error.
  request.on('close', () => {
    if (!isOver) release()
    isOver = true
  })
}
