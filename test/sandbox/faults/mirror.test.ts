import { describe, expect, it } from 'vitest'
import { DAY, exportAll, exportable, firstAgent, idsOf, open } from '../caller.ts'

describe('the mirror’s lag', () => {
  it.each(['created', 'activity'] as const)('hides changes within the lag, ts %s', async ts => {
    const sandbox = await open({ ts, conversations: 500, agents: 1, arrivalsPerDay: 500, mirrorLagMs: DAY })
    const agentId = firstAgent(sandbox)
    sandbox.clock.advance(2 * DAY)
    const nowMs = sandbox.clock.now()
    const records = (await exportAll(sandbox, agentId, { limit: 100 })).flatMap(page => page.data)
    const truth = exportable(sandbox, agentId, nowMs - DAY)
    expect(records.map(({ ID }) => ID).toSorted()).toEqual(truth.map(({ id }) => id).toSorted())
    expect(Math.max(...records.map(({ lastModified }) => Number(lastModified)))).toBeLessThanOrEqual(nowMs - DAY)
    expect(exportable(sandbox, agentId, nowMs).length).toBeGreaterThan(records.length)
  })

  it('applies to conversations that are requested by id', async () => {
    const sandbox = await open({ conversations: 100, agents: 1, arrivalsPerDay: 500, mirrorLagMs: DAY })
    const agentId = firstAgent(sandbox)
    sandbox.clock.advance(DAY / 2)
    const newest = exportable(sandbox, agentId).at(-1)!
    expect(idsOf(await exportAll(sandbox, agentId, { convoIds: newest.id }))).toEqual([])
    sandbox.clock.advance(DAY)
    expect(idsOf(await exportAll(sandbox, agentId, { convoIds: newest.id }))).toEqual([newest.id])
  })
})
