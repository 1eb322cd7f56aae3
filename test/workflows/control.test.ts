// Controls that a host can use on a running sync: pause, raise limits, hand over.

import { describe, expect, it } from 'vitest'
import { openRun } from '../../src/app.ts'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import type { Host } from '../../workflows/host.ts'
import type { Checkpoint } from '../../workflows/run.ts'
import type { SyncRequest } from '../../workflows/steps.ts'
import { continueSync, planSync } from '../../workflows/sync.ts'
import { expectedTables } from './simulated/expected-rows.ts'
import type { SimulatedApp } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { simulatedHost, timed } from './simulated/simulated-host.ts'
import { readThrough, truthOf } from './simulated/truth.ts'
import { asLines, warehouseTables } from './simulated/warehouse-tables.ts'

const signal = new AbortController().signal

/** Starts a sync under a host with the given controls, and runs until it ends or hands over. */
async function controlled(simulated: SimulatedApp, asked: Partial<SyncRequest>, controls: Partial<Host>) {
  const { config, app, clock } = simulated
  const workspace = config.workspaces[0]!
  const { run, steps, close } = await openRun({ config, workspace, app, signal, clock: clock.within })
  const host = { ...simulatedHost(clock, { signal, notify: () => {} }), ...controls }
  const request: SyncRequest = { ...PLAIN_SYNC, ...asked, run, workspaceId: workspace.id }
  const within = timed(steps, clock)
  return {
    begin: () => planSync(within, host, request),
    proceed: (checkpoint: Checkpoint) => continueSync(within, host, request, checkpoint),
    close,
  }
}

describe('a sync that is handed over repeatedly', () => {
  it('ends like any other and requests nothing twice', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 120 },
      settings: { maxPage: 5, resources: RESOURCE_NAMES },
    })
    const { sandbox } = simulated
    const nowMs = sandbox.clock.now()
    let turns = 0
    const { begin, proceed, close } = await controlled(simulated, {}, { shouldHandOver: () => ++turns % 5 === 0 })
    let handovers = 0
    let checkpoint = await begin()
    for (;;) {
      const ended = await proceed(JSON.parse(JSON.stringify(checkpoint)) as Checkpoint)
      if (ended.checkpoint === null) {
        expect(ended.report).toMatchObject({ outcome: 'done', windowsLeft: 0, breaches: 0 })
        expect(ended.report.pages).toBe((await simulated.exported()).length)
        expect(ended.report.requests).toBe((await simulated.served()).length)
        break
      }
      handovers += 1
      checkpoint = ended.checkpoint
    }
    await close()
    expect(handovers).toBeGreaterThan(3)
    const exported = (await simulated.exported()).map(({ agentId, query }) => JSON.stringify([agentId, query]))
    expect(new Set(exported).size).toBe(exported.length)
    const truth = truthOf(sandbox, { throughMs: readThrough(nowMs, 120_000) })
    expect(asLines(await warehouseTables(simulated.rows))).toEqual(asLines(expectedTables(truth)))
  })
})

describe('a sync that is cancelled while it hands over', () => {
  it('is reported once, as interrupted; a paused sync requests nothing until it is resumed, and exceeds its limit by an allowance', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 100 }, settings: { maxPage: 5 } })
    let cancelled = false
    const handsOver = () => {
      cancelled = true
      return true
    }
    const first = await controlled(simulated, {}, { shouldHandOver: handsOver, cancelled: () => cancelled })
    const { report, checkpoint } = await first.proceed(await first.begin())
    expect([report?.outcome, checkpoint]).toEqual(['interrupted', null])
    expect(await simulated.rows('SELECT outcome FROM _runs')).toEqual([{ outcome: 'interrupted' }])
    await first.close()
    const before = (await simulated.served()).length

    let resume = () => {}
    const resumed = new Promise<void>(resolve => {
      resume = resolve
    })
    const allowances = [[{ requests: 500 }]]
    const { begin, proceed, close } = await controlled(
      simulated,
      { maxRequests: 3 },
      { untilResumed: () => resumed, takeAllowances: () => allowances.pop() ?? [] },
    )
    const ended = proceed(await begin())
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(await simulated.served()).toHaveLength(before)
    resume()
    const allowed = (await ended).report
    expect(allowed).toMatchObject({ outcome: 'done' })
    expect(allowed!.requests).toBeGreaterThan(10)
    await close()
  })
})
