// The API document leaves points open (`READINGS` of the sandbox). Each run executes the two days of reading-run.ts, with faults and
// a replay, against a vendor that resolves all these points at random.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rounds } from '../tier.ts'
import { executeReadingRun, readingRuns } from './reading-run.ts'

/** Each run takes a second or two of processor time. Another READING_SEED yields other runs. */
const numRuns = rounds('READING_RUNS', { usual: 1, deep: 200 })
const seed = Number(process.env.READING_SEED ?? 14)

describe('a workspace whose vendor resolves the open points of the API document at random', () => {
  it('is exported completely, nothing twice, and within the quota', {
    timeout: 600_000 + numRuns * 20_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(readingRuns, async run => {
        expect(await executeReadingRun(run)).toEqual([])
      }),
      { numRuns, seed, endOnFailure: true },
    )
  })
})
