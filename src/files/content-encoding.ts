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

/** Some senders of `deflate` omit the header of zlib. */
const DECODERS = {
  gzip: [createGunzip],
  'x-gzip': [createGunzip],
  br: [createBrotliDecompress],
  deflate: [createInflate, createInflateRaw],
}

const isKnown = (coding: string): coding is keyof typeof DECODERS => Object.hasOwn(DECODERS, coding)

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
  ...(isGzip(body) ? ['gzip'] : []),
]

const isGzip = (body: Buffer): boolean => body[0] === 0x1f && body[1] === 0x8b

/** False for nearly all bodies, which need no decoding. */
export const mayBeEncoded = (body: Buffer, header: string): boolean => codingsOf(body, header).length > 0

/** Decodes a body. `header`: the value of `Content-Encoding`, or nothing. */
export async function decodeBody(given: Buffer, header: string, maxBytes: number): Promise<DecodedBody> {
  let body = given
  let part: Buffer | undefined
  const codings = codingsOf(given, header)
  for (const coding of codings.filter(isKnown).slice(0, MOST_CODINGS)) {
    if (isUtf8(body) && !isBinary(body)) break
    for (const decoder of DECODERS[coding]) {
      const decoded = await decode(body, decoder, maxBytes)
      if (decoded === 'too-large') return { body: given, encoding: header, isTooLarge: true }
      if (decoded.isWhole) body = decoded.bytes
      else if (decoded.bytes.length > 0) part = decoded.bytes
      if (decoded.isWhole) break
    }
  }
  const isPlain = codings.length === 0 || !isBinary(body)
  if (isPlain) return { body, encoding: null, isTooLarge: false }
  return { body, encoding: header || 'none', isTooLarge: false, ...(part && { part }) }
}

/** `isWhole`: false for a body that does not have this coding, or is damaged. */
async function decode(
  body: Buffer,
  decoder: (typeof DECODERS)['deflate'][number] | typeof createGunzip,
  maxBytes: number,
): Promise<{ bytes: Buffer; isWhole: boolean } | 'too-large'> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of decoder({ chunkSize: 64 * 1024 }).end(body)) {
      size += chunk.length
      if (size > maxBytes) return 'too-large'
      chunks.push(chunk)
    }
    return { bytes: Buffer.concat(chunks), isWhole: true }
  } catch {
    return { bytes: Buffer.concat(chunks), isWhole: false }
  }
}
