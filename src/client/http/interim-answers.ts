// Removes interim answers (1xx) from a connection. A server may send any number of them (RFC 9110, 15.2), but undici closes
// the connection at a 100 that it has not asked for, although the request may have been billed.

import type { Duplex } from 'node:stream'

/** Matches whole interim answers: any but 101, which ends HTTP on the connection. */
const WHOLE = /^(?:HTTP\/1\.[01] 1(?!01)\d\d(?=[ \r])[\s\S]*?\r\n\r\n)+/
const BEGUN = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/
const BEGINNING_BYTES = 'HTTP/1.1 100 '.length
/** A longer one is left to undici, which refuses it. */
const LONGEST_BYTES = 64 * 1024

const mayBeInterim = (text: string): boolean =>
  text.length < BEGINNING_BYTES ? 'HTTP/1.'.startsWith(text.slice(0, 7)) : BEGUN.test(text)

/** Changes a connection so that whoever reads it gets no interim answers. */
export function withoutInterim<S extends Duplex>(socket: S): S {
  /** The bytes since the last request, as Latin-1; null once the final answer has begun. */
  let begun: string | null = ''
  const { read, write } = socket
  socket.write = ((...given: Parameters<typeof write>) => {
    begun = ''
    return write.apply(socket, given)
  }) as typeof write
  socket.read = size => {
    for (;;) {
      const chunk: Buffer | null = read.call(socket, size)
      if (chunk === null || begun === null) return chunk
      const answer: string = (begun + chunk.toString('latin1')).replace(WHOLE, '')
      begun = mayBeInterim(answer) && answer.length <= LONGEST_BYTES ? answer : null
      if (begun === null) return Buffer.from(answer, 'latin1')
    }
  }
  return socket
}
