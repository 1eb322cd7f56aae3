// Decodes bodies that are compressed for transfer (`Content-Encoding`), within a limit of size. The header is only a hint:
// some senders declare a coding that they did not apply, or apply one that they did not declare.

import { isUtf8 } from 'node:buffer'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'

export interface DecodedBody {
  /** The plain body; the body as sent if it cannot be decoded. */
  body: Buffer
  /** The declared codings if the body is still encoded; null for a plain body. */
  encoding: string | null
  /** True if decoding was stopped, because the decoded bytes exceed the limit. */
  isTooLarge: boolean
  /** The decoded beginning of a damaged body. */
  part?: Buffer
}

/** Returns the stream that undoes a coding. Some senders of `deflate` omit the header of zlib. */
function decoderOf(coding: string, [first = 0]: Buffer) {
  if (coding === 'br') return createBrotliDecompress()
  if (coding === 'deflate') return (first & 0x0f) === 8 ? createInflate() : createInflateRaw()
  return createGunzip()
}

const KNOWN: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'br', 'deflate'])

/** Limits the work for one body. */
const MOST_CODINGS = 5

/** Matches control characters that no text contains. UTF-16 contains NULs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they tell binary data from text.
const BINARY = /[\x01-\x08\x0e-\x1a\x1c-\x1f]/

export const isBinary = (body: Buffer): boolean => BINARY.test(body.toString('latin1'))

/** Returns the codings to undo, the last one first. */
const codingsOf = (body: Buffer, header: string): string[] => [
  ...header
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(coding => coding !== '' && coding !== 'identity')
    .reverse(),
  ...(body[0] === 0x1f && body[1] === 0x8b ? ['gzip'] : []),
]

/** False for nearly all bodies, which need no decoding. */
export const mayBeEncoded = (body: Buffer, header: string): boolean => codingsOf(body, header).length > 0

/** Decodes a body. `header`: the value of `Content-Encoding`, or nothing. */
export async function decodeBody(given: Buffer, header: string, maxBytes: number): Promise<DecodedBody> {
  let body = given
  let part: Buffer | undefined
  const codings = codingsOf(given, header)
  for (const coding of codings.filter(one => KNOWN.has(one)).slice(0, MOST_CODINGS)) {
    if (isUtf8(body) && !isBinary(body)) break
    const chunks: Buffer[] = []
    let size = 0
    try {
      for await (const chunk of decoderOf(coding, body).end(body)) {
        size += chunk.length
        if (size > maxBytes) return { body: given, encoding: header, isTooLarge: true }
        chunks.push(chunk)
      }
      body = Buffer.concat(chunks)
    } catch {
      // The body does not have this coding, or is damaged.
      if (size > 0) part = Buffer.concat(chunks)
    }
  }
  if (codings.length === 0 || !isBinary(body)) return { body, encoding: null, isTooLarge: false }
  return { body, encoding: header || 'none', isTooLarge: false, ...(part && { part }) }
}
