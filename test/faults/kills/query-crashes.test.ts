// Runs DuckDB's functions and syntax with deeply nested and huge arguments: no query that the guard admits may end the process.
import { expect, it } from 'vitest'
import { fuzz } from '../../fuzz/run.ts'
import { rounds } from '../../tier.ts'

/** For a longer run: `FUZZ_SECONDS=600 FUZZ_SEED=2 npx vitest run test/faults/kills/query-crashes.test.ts`. */
const SECONDS = rounds('FUZZ_SECONDS', { usual: 0, deep: 60 })

const SEED = Number(process.env.FUZZ_SEED ?? 1)

it.runIf(SECONDS > 0)('no admitted query ends the process', { timeout: (SECONDS + 120) * 1_000 }, async () => {
  const { cases, outcomes, crashes } = await fuzz({ seed: SEED, seconds: SECONDS })
  // Slow queries (`stuck`) and queries that use much memory do not count as crashes.
  expect(crashes.filter(({ how }) => how !== 'stuck' && how !== 'memory')).toEqual([])
  expect(cases).toBeGreaterThan(0)
  expect(outcomes.ok).toBeGreaterThan(0)
})
