// What is large crosses Temporal packed: a server refuses a payload of two megabytes, and a plan for five thousand agents is
// larger than that. All else stays as it is, so that Temporal's UI and CLI can show it.
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Payload, PayloadCodec } from '@temporalio/common'

const pack = promisify(gzip)
const unpack = promisify(gunzip)

/** Bytes from which on it is worth it. */
const COMPRESS_FROM_BYTES = 128 * 1024

const ENCODING = 'encoding'
/** How a payload is encoded when it has been unpacked. */
const INNER_ENCODING = 'encoding-within'
const GZIP_ENCODING = Buffer.from('binary/gzip')

async function compress(payload: Payload): Promise<Payload> {
  const { metadata, data } = payload
  const within = metadata?.[ENCODING]
  if (!data || !within || data.length < COMPRESS_FROM_BYTES) return payload
  return {
    ...payload,
    metadata: { ...metadata, [ENCODING]: GZIP_ENCODING, [INNER_ENCODING]: within },
    data: await pack(data),
  }
}

async function decompress(payload: Payload): Promise<Payload> {
  const { [INNER_ENCODING]: within, ...metadata } = payload.metadata ?? {}
  if (!payload.data || !within) return payload
  return { ...payload, metadata: { ...metadata, [ENCODING]: within }, data: await unpack(payload.data) }
}

const gzipCodec: PayloadCodec = {
  encode: payloads => Promise.all(payloads.map(compress)),
  decode: payloads => Promise.all(payloads.map(decompress)),
}

/** For clients and workers alike. */
export const dataConverter = { payloadCodecs: [gzipCodec] }
