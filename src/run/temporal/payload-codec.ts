// What is large crosses Temporal packed: a server refuses a payload of two megabytes, and a plan for five thousand agents is
// larger than that. All else stays as it is, so that Temporal's UI and CLI can show it.
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Payload, PayloadCodec } from '@temporalio/common'

const pack = promisify(gzip)
const unpack = promisify(gunzip)

/** Bytes from which on it is worth it. */
const LARGE = 128 * 1024

const ENCODING = 'encoding'
/** How a payload is encoded when it has been unpacked. */
const WITHIN = 'encoding-within'
const PACKED = Buffer.from('binary/gzip')

async function packed(payload: Payload): Promise<Payload> {
  const { metadata, data } = payload
  const within = metadata?.[ENCODING]
  if (!data || !within || data.length < LARGE) return payload
  return { ...payload, metadata: { ...metadata, [ENCODING]: PACKED, [WITHIN]: within }, data: await pack(data) }
}

async function unpacked(payload: Payload): Promise<Payload> {
  const { [WITHIN]: within, ...metadata } = payload.metadata ?? {}
  if (!payload.data || !within) return payload
  return { ...payload, metadata: { ...metadata, [ENCODING]: within }, data: await unpack(payload.data) }
}

const packing: PayloadCodec = {
  encode: payloads => Promise.all(payloads.map(packed)),
  decode: payloads => Promise.all(payloads.map(unpacked)),
}

/** For clients and workers alike. */
export const dataConverter = { payloadCodecs: [packing] }
