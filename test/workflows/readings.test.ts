import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { liveReadings, readingRuns } from './reading-run.ts'

/** A second or two of processor time each; more by READING_RUNS=200, others by READING_SEED. */
const numRuns = Number(process.env.READING_RUNS ?? 6)
const seed = Number(process.env.READING_SEED ?? 14)

describe('a vendor who reads every open point of the API document in a way of its own', () => {
  it('is exported whole, nothing twice, and within the quota', async () => {
    await fc.assert(
      fc.asyncProperty(readingRuns, async run => {
        expect(await liveReadings(run)).toEqual([])
      }),
      { numRuns, seed, endOnFailure: true },
    )
  })
})
