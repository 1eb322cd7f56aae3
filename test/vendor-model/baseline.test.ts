// Records the cost of syncs if the vendor behaves: no seed may cost more sessions or requests than before.
// RECORD_BASELINE=1 BASELINE_SEEDS=40 writes the file again, after a change that lowers the figures.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { rounds } from '../tier.ts'
import { drawHistory } from './draw-history.ts'
import { exportsOf, type History, runHistory } from './history.ts'

const FILE = join(import.meta.dirname, 'baseline.json')
const SEEDS = Array.from({ length: rounds('BASELINE_SEEDS', { usual: 8, deep: 40 }) }, (_, index) => index + 1)

/** The seed's history without misbehaviour, kills, limits and odd ids: everything is exported, no matter what the code reserves. */
function behaving(seed: number): History {
  const drawn = drawHistory(seed)
  const agents = drawn.agents.map((agent, index) => ({ ...agent, id: `agent-${index}` }))
  const { includedSessions: _, usedElsewhere: __, ...vendor } = drawn.vendor ?? {}
  const steps = drawn.steps.map(step => ('sync' in step ? { ...step, sync: {}, killAt: -1 } : step))
  return { ...drawn, vendor, agents, steps, behaviours: [] }
}

async function costOf(seed: number): Promise<[requests: number, sessions: number]> {
  const world = await runHistory(behaving(seed))
  return [exportsOf(world).length, world.vendor.bills.reduce((sum, { sessions }) => sum + sessions, 0)]
}

it('a vendor that behaves is sent no more requests, and bills no more sessions, than before', async () => {
  const costs: Record<string, [number, number]> = {}
  for (const seed of SEEDS) costs[seed] = await costOf(seed)
  const lines = SEEDS.map(seed => `  "${seed}": [${costs[seed]!.join(', ')}]`)
  if (process.env.RECORD_BASELINE) writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`)
  const baseline = JSON.parse(readFileSync(FILE, 'utf8')) as typeof costs
  // A full last page of an agent's history, or of its re-read, is followed by one request that bills nothing: it may have been cut off.
  const isDearer = (seed: number) =>
    costs[seed]!.some(
      (cost, index) => cost > baseline[seed]![index]! + (index === 0 ? 2 * behaving(seed).agents.length : 0),
    )
  const dearer = SEEDS.filter(isDearer)
  expect(dearer.map(seed => ({ seed, now: costs[seed], before: baseline[seed] }))).toEqual([])
})
