// The first export of a conversation that events show as still active.
import { describe, expect, it } from 'vitest'
import { spoolOf } from '../../src/app/spool.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { drainAll } from '../../workflows/ingest.ts'
import { type SimulatedApp, WORKSPACE } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { openEventSender } from './simulated/simulated-events.ts'

interface Row {
  id: string
  complete: boolean
  /** `ts`, and the last change that an event has reported, ms. */
  beganMs: number
  changedMs: number
  covered: boolean
}

const rowsOf = ({ rows }: SimulatedApp): Promise<Row[]> =>
  rows(`SELECT conversation_id AS id, _complete AS complete, epoch_ms(ts)::DOUBLE AS "beganMs", epoch_ms(_changed_at)::DOUBLE AS "changedMs",
    EXISTS (SELECT 1 FROM _covered v WHERE v.agent_id = c.agent_id AND epoch(ts) BETWEEN v.from_sec AND v.to_sec) AS covered
    FROM conversations c WHERE _changed_at IS NOT NULL`)

/** Sends the events of each hour, and syncs at its end. */
async function live(simulated: SimulatedApp, hours: number, each: (before: Row[], nowMs: number) => Promise<void>) {
  const { sandbox, config, app, clock } = simulated
  const spool = spoolOf({ app, home: config.home, workspace: config.workspaces[0]!, now: clock.now })
  const sender = openEventSender(simulated, { dropped: 0 })
  await simulated.sync()
  for (let hour = 0; hour < hours; hour++) {
    const fromMs = sandbox.clock.now()
    simulated.advance(HOUR)
    const nowMs = sandbox.clock.now()
    await sender.send(fromMs, nowMs)
    await drainAll(spool, WORKSPACE)
    const before = await rowsOf(simulated)
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
    await each(before, nowMs)
  }
}

const SCENE = { sandbox: { agents: 1, conversations: 0, arrivalsPerDay: 96, traffic: true } }

describe('the first export of a conversation that is still active', () => {
  it('waits until events show it quiet for an hour, six hours at most; until then its row is incomplete and not covered', async () => {
    const simulated = await simulatedApp(SCENE)
    let waited = 0
    await live(simulated, 9, async (before, nowMs) => {
      const after = new Map((await rowsOf(simulated)).map(row => [row.id, row]))
      for (const { id, complete, beganMs, changedMs, covered } of before) {
        const isActive = changedMs > nowMs - HOUR && beganMs > nowMs - 6 * HOUR
        if (complete || covered || !isActive) continue
        waited++
        expect(after.get(id)).toMatchObject({ complete: false, covered: false })
      }
      for (const { beganMs, covered } of after.values())
        if (beganMs < nowMs - 6 * HOUR - MINUTE) expect(covered).toBe(true)
    })
    expect(waited).toBeGreaterThan(10)
    const [billed] = await simulated.rows<{ twice: number }>(
      `SELECT count(*)::INTEGER AS twice FROM (SELECT 1 FROM conversation_observations WHERE kind = 'head' GROUP BY conversation_id HAVING count(*) > 1)`,
    )
    expect(billed!.twice).toBe(0)
  })

  it('does not wait where no events arrive', async () => {
    const simulated = await simulatedApp(SCENE)
    await simulated.sync()
    simulated.advance(DAY)
    await simulated.sync()
    const [end] = await simulated.rows<{ ms: number }>('SELECT max(to_sec)::DOUBLE * 1000 AS ms FROM _covered')
    expect(end!.ms).toBeGreaterThan(simulated.sandbox.clock.now() - 3 * MINUTE)
  })
})
