// Reads the bodies of requests within one budget of memory.
//
// The secret is in the body, so a sender is unauthenticated until its secret has arrived. When the budget is exhausted, the sender with the
// largest bytes × time is dropped: real events are small and arrive quickly. Bodies in which a valid secret has arrived are spared.
import type { IncomingMessage } from 'node:http'
import type { Refusal } from './refusals.ts'

export interface BodyLimits {
  /** Maximum size of one body. */
  maxBytes: number
  /** Maximum memory of all bodies that are being received or stored. */
  maxBytesAtOnce: number
}

/** Memory that a chunk uses besides its bytes. It counts, because a body may arrive byte by byte. */
const CHUNK_BYTES = 256

export type ReadBody = { body: Buffer; release: () => void } | { refused: Refusal }

interface BodyReader {
  /** True if the bytes contain a valid secret. */
  isAuthentic: (bytes: Buffer) => boolean
  /** Receives the complete body, which it must release, or the refusal. Not called if the sender hangs up. */
  done: (read: ReadBody) => void
}

class HeldBody {
  readonly beganMs = performance.now()
  readonly chunks: Buffer[] = []
  /** Memory that the body occupies. */
  held = 0
  /** Set when `done` has been called or the sender has hung up. */
  isOver = false
  private readonly reader: BodyReader
  private proven = { chunks: 0, is: false }

  constructor(reader: BodyReader) {
    this.reader = reader
  }

  get cost(): number {
    return this.held * (performance.now() - this.beganMs)
  }

  isAuthentic(): boolean {
    const { chunks, proven } = this
    if (!proven.is && chunks.length > proven.chunks)
      this.proven = { chunks: chunks.length, is: this.reader.isAuthentic(Buffer.concat(chunks)) }
    return this.proven.is
  }

  end(read: ReadBody): void {
    this.isOver = true
    this.reader.done(read)
  }
}

export class Bodies {
  /** Memory that all bodies occupy. */
  bytes = 0
  private readonly limits: BodyLimits
  private readonly open = new Set<HeldBody>()

  constructor(limits: BodyLimits) {
    this.limits = limits
  }

  /** Begins to read the body of a request. False if its announced length is too large, so that it was refused. */
  read(request: IncomingMessage, reader: BodyReader): boolean {
    const { maxBytes } = this.limits
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
      reader.done({ refused: 'too-large' })
      return false
    }
    const body = new HeldBody(reader)
    this.open.add(body)
    let length = 0
    request.on('data', (chunk: Buffer) => {
      if (body.isOver) return
      length += chunk.length
      body.chunks.push(chunk)
      if (length > maxBytes) this.refuse(body, 'too-large')
      else this.makeRoom(body, chunk.length + CHUNK_BYTES)
    })
    request.on('end', () => {
      if (body.isOver) return
      this.open.delete(body)
      const complete = Buffer.concat(body.chunks)
      body.chunks.length = 0
      body.end({ body: complete, release: () => this.release(body) })
    })
    // `close` follows `end`, too, and a network error.
    request.on('close', () => {
      if (!body.isOver) this.release(body)
      body.isOver = true
    })
    return true
  }

  private release(body: HeldBody): void {
    this.bytes -= body.held
    body.held = 0
    body.chunks.length = 0
    this.open.delete(body)
  }

  private refuse(body: HeldBody, refused: Refusal): void {
    this.release(body)
    body.end({ refused })
  }

  /** Reserves memory for a chunk, unless the body is refused instead. */
  private makeRoom(body: HeldBody, bytes: number): void {
    while (this.bytes + bytes > this.limits.maxBytesAtOnce) {
      const slowest = [...this.open].sort((a, b) => b.cost - a.cost).find(other => !other.isAuthentic())
      this.refuse(slowest ?? body, slowest ? 'too-slow' : 'too-busy')
      if (body.isOver) return
    }
    this.bytes += bytes
    body.held += bytes
  }
}
