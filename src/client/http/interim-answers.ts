// Removes interim answers (1xx) from a connection. A server may send any number of them (RFC 9110, 15.2), but undici closes
// the connection at a 100 that it has not asked for, although the request may have been billed.

import type { Duplex } from 'node:stream'

/** Matches the beginning of any but 101, which ends HTTP on the connection. */
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/
const BEGINNING_BYTES = 'HTTP/1.1 100 '.length
const END = '\r\n\r\n'
/** A longer one is left to undici, which refuses it. */
const LONGEST_BYTES = 64 * 1024

const isBeginning = (bytes: Buffer): boolean => 'HTTP/1.'.startsWith(bytes.toString('latin1', 0, 7))
const isInterim = (bytes: Buffer): boolean => INTERIM.test(bytes.toString('latin1', 0, BEGINNING_BYTES))

/** Changes a connection so that whoever reads it gets no interim answers. */
export function withoutInterim<S extends Duplex>(socket: S): S {
  /** The bytes since the last request; null once the final answer has begun. */
  let begun: Buffer | null = Buffer.alloc(0)
  const { read, write } = socket
  socket.write = ((...given: Parameters<typeof write>) => {
    begun = Buffer.alloc(0)
    return write.apply(socket, given)
  }) as typeof write
  socket.read = size => {
    for (;;) {
      const chunk: Buffer | null = read.call(socket, size)
      if (chunk === null || begun === null) return chunk
      let answer: Buffer = Buffer.concat([begun, chunk])
      for (let end = 0; isInterim(answer) && end >= 0; ) {
        end = answer.indexOf(END)
        if (end >= 0) answer = answer.subarray(end + END.length)
      }
      const mayBeInterim = answer.length < BEGINNING_BYTES ? isBeginning(answer) : isInterim(answer)
      const isOpen = mayBeInterim && answer.length <= LONGEST_BYTES
      begun = isOpen ? answer : null
      if (!isOpen) return answer
    }
  }
  return socket
}
