// Random histories of a vendor that misbehaves. A seed that fails is run alone with HISTORY_SEED=… HISTORY_ROUNDS=1.
import { expect, it } from 'vitest'
import { rounds } from '../tier.ts'
import { drawHistory } from './draw-history.ts'
import { runHistory } from './history.ts'
import { accountOf, violationsOf } from './invariants.ts'

const ROUNDS = rounds('HISTORY_ROUNDS', { usual: 4, deep: 1_500 })
const FIRST_SEED = Number(process.env.HISTORY_SEED ?? 1)

/** Seeds that still violate an invariant (ADR 7). */
const OPEN = new Set([
  309, // a full last page that claims to be the last ends a poll; the rest arrives with the next sync
  1309, // the vendor ignores the order, and rereads are priced too low
  ...[314, 1393], // 22 probes in an hour; 419 vain requests in a sync
  ...[403, 1347], // a record that lost its id once waits for a refresh
  ...[677, 706, 992, 1317], // quotas of some hundred sessions, whose reserve leaves history waiting
  ...[963, 1037, 1105, 1459], // empty mirrors together with failing records
])

it('no matter what the vendor answers, a sync ends, spends, keeps, returns and says what it should', async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + ROUNDS; seed++) {
    if (OPEN.has(seed) && ROUNDS > 1) continue
    const world = await runHistory(drawHistory(seed))
    const violated = violationsOf(world).map(({ invariant, text }) => `${invariant}: ${text}`)
    expect(violated, [`HISTORY_SEED=${seed}`, accountOf(world), JSON.stringify(world.history)].join('\n')).toEqual([])
  }
})
