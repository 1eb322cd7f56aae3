// The codec that compresses payloads for Temporal.
import { defaultPayloadConverter } from '@temporalio/common'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dataConverter } from '../../../src/run/temporal/payload-codec.ts'

const [codec] = dataConverter.payloadCodecs
const sizes = fc.integer({ min: 0, max: 400_000 })

describe('payloads', () => {
  it('are unchanged by encoding and decoding, at any size', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sizes, { maxLength: 3 }), fc.string(), async (lengths, filling) => {
        const values = lengths.map(length => ({ filling, at: 'x'.repeat(length) }))
        const payloads = values.map(value => defaultPayloadConverter.toPayload(value)!)
        const encoded = await codec!.encode(payloads)
        const decoded = await codec!.decode(encoded)
        expect(decoded.map(payload => defaultPayloadConverter.fromPayload(payload))).toEqual(values)
        expect(decoded.map(({ metadata }) => Object.keys(metadata!))).toEqual(payloads.map(() => ['encoding']))
      }),
      { numRuns: 30 },
    )
  })

  it('are compressed if they are large, and stay readable if they are small', async () => {
    const small = defaultPayloadConverter.toPayload({ report: 'done' })!
    const large = defaultPayloadConverter.toPayload(Array.from({ length: 20_000 }, (_, at) => `agent ${at}`))!
    const [asSmall, asLarge] = await codec!.encode([small, large])
    expect(asSmall).toBe(small)
    expect(asLarge!.data!.length).toBeLessThan(large.data!.length / 4)
    expect(Buffer.from(asLarge!.metadata!.encoding!).toString()).toBe('binary/gzip')
  })
})
