// When landed pages are loaded: early in a first sync, at the end of a later one.
import { expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import type { Steps } from '../../workflows/steps.ts'
import { syncWorkspace } from '../../workflows/sync.ts'
import { openSync } from '../vendor-model/model-process.ts'
import { agent, type Scenario, scenario } from '../vendor-model/scenario.ts'

/** Runs a sync. @returns its report and the actions of its steps, in order */
async function noted({ world }: Scenario) {
  const { steps, host, request } = openSync(world, { sync: {} })
  const done: ('fetched' | 'loaded')[] = []
  const note =
    <Input, Output>(what: 'fetched' | 'loaded', step: (input: Input) => Promise<Output>) =>
    async (input: Input) => {
      const result = await step(input)
      done.push(what)
      return result
    }
  const all: Steps = { ...steps, fetchPages: note('fetched', steps.fetchPages), load: note('loaded', steps.load) }
  return { report: await world.clock.drive(syncWorkspace(all, host, request)), done }
}

it('a first sync loads its first rows while it fetches the rest, and the rest in few loads', async () => {
  const first = scenario({ agents: ['a', 'b', 'c'].map(id => agent(id, 400)), maxPage: 5 })
  const { report, done } = await noted(first)
  expect(report).toMatchObject({ outcome: 'done', failures: [] })
  expect(report.pages).toBeGreaterThan(200)
  const loads = done.filter(what => what === 'loaded').length
  expect(loads).toBeGreaterThan(2)
  expect(loads).toBeLessThanOrEqual(Math.ceil(report.pages / 100) + 3)
  // The listing of the agents is loaded first, then the first pages.
  const second = done.indexOf('loaded', done.indexOf('loaded') + 1)
  expect(done.slice(0, second).filter(what => what === 'fetched').length).toBeLessThanOrEqual(6)
  expect(first.stored()).toHaveLength(report.conversations)
})

it('a sync of a workspace that has rows loads once, after everything has landed', async () => {
  const later = scenario({ agents: [agent('a', 40, { perDay: 60 })], maxPage: 5 })
  await later.sync()
  later.wait(DAY)
  const { report, done } = await noted(later)
  expect(report.pages).toBeGreaterThan(3)
  expect(done.filter(what => what === 'loaded')).toHaveLength(1)
  expect(done.at(-1)).toBe('loaded')
})
