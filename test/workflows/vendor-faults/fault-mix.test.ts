// Random mixes of vendor faults, changes and stops (fault-mix.ts), checked against the invariants of fault-invariants.ts.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rounds } from '../../tier.ts'
import { emptyApp } from '../simulated/open-simulated-app.ts'
import { checkViolations } from './fault-invariants.ts'
import { mixOf, runMix } from './fault-mix.ts'

/** Each run takes about a second of processor time. FAULT_SEED with FAULT_RUNS=1 selects a single run. */
const RUNS = rounds('FAULT_RUNS', { usual: 2, deep: 200 })
const FROM = Number(process.env.FAULT_SEED ?? 1)
const AT_ONCE = 4

describe('a workspace whose vendor has random faults', () => {
  let shared: Awaited<ReturnType<typeof emptyApp>>
  beforeAll(async () => {
    shared = await emptyApp()
  })
  afterAll(() => shared.close())
  const seeds = Array.from({ length: Math.ceil(RUNS / AT_ONCE) }, (_, chunk) =>
    Array.from({ length: Math.min(AT_ONCE, RUNS) }, (_, index) => FROM + chunk * AT_ONCE + index),
  )
  it.each(seeds.map(chunk => ({ chunk })))('violates no invariant, with seeds $chunk', async ({ chunk }) => {
    const found = await Promise.all(
      chunk.map(async seed => {
        const violations = await runMix(mixOf(seed), { ...shared, workspaceId: `seed_${seed}` })
        return violations.map(violation => `seed ${seed}: ${violation}`)
      }),
    )
    expect(found.flat()).toEqual([])
    expect(await checkViolations({ rows: sql => shared.app.warehouse.writer.rows(sql) })).toEqual([])
  })
})
