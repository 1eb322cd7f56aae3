// Compresses large payloads: a server refuses payloads above 2 MB, and a plan for 5,000 agents is larger. Small
// payloads are not compressed, so that they stay readable in Temporal's UI and CLI.
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Payload, PayloadCodec } from '@temporalio/common'

const pack = promisify(gzip)
const unpack = promisify(gunzip)

/** Smaller payloads are sent uncompressed. */
const COMPRESS_FROM_BYTES = 128 * 1024

const ENCODING = 'encoding'
/** Metadata key for the encoding that the payload had before compression. */
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

/** The data converter of clients and workers. */
export const dataConverter = { payloadCodecs: [gzipCodec] }
