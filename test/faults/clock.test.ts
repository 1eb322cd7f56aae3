import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import type { Clock } from '../../src/clock.ts'
import { DAY, MINUTE } from '../../src/core/time.ts'
import { PLAIN_SYNC, syncOnce } from '../../src/run/embedded.ts'
import type { CliOptions } from '../cli/cli-process.ts'
import { isDeep } from '../tier.ts'
import type { SimulatedApp } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'
import { simulatedTime } from '../workflows/simulated/simulated-time.ts'
import { readThrough, truthOf } from '../workflows/simulated/truth.ts'
import { expectComplete, exportedTwice, type FaultScene, faultScene, SETTLE_MS } from './scene.ts'

/**
 * Sets the wall clock of one process: it jumps `afterMs` after the start, and the monotonic clock does not, as when a person or a
 * time server sets the time.
 */
const clockSet = (byMs: number, afterMs = 0): CliOptions => {
  const script = `const wall = Date.now; Date.now = () => wall() + (performance.now() >= ${afterMs} ? ${byMs} : 0)`
  return { node: ['--import', `data:text/javascript,${encodeURIComponent(script)}`] }
}

const usageOf = async ({ sandbox }: FaultScene) => {
  const state = await (await fetch(`${sandbox.url}/_sandbox/state`)).json()
  return (state as { usage: { overageUsedThisPeriod: number; billableUsedThisPeriod: number } }).usage
}

describe('a clock that is set by a day between runs', () => {
  it('causes no request twice, no wait of a day, and no overage', async () => {
    const scene = await faultScene({
      sandbox: { conversations: 200, quotaSessions: 200, historyDays: 2_000 },
      workspace: { pageSize: 10 },
    })
    const exported: number[] = []
    for (const byMs of [DAY, -DAY]) {
      const ended = await scene.run(['sync', '--yes', '--no-wait', '--max-requests', '4'], clockSet(byMs))
      expect([0, 8], ended.stderr).toContain(ended.code)
      exported.push((await scene.exported()).length)
    }
    // Both syncs export: the second is not blocked by leases that the first recorded with its clock one day ahead.
    expect(new Set([0, ...exported]).size).toBe(3)
    expect(await exportedTwice(scene)).toEqual([])
    const ended = await scene.run(['sync', '--yes', '--no-wait'])
    expect(ended.code, ended.stderr).toBe(8)
    expect(await usageOf(scene)).toMatchObject({ overageUsedThisPeriod: 0 })
    const leaseLog = await readdir(join(scene.home, 'landing', 'ws_demo', 'ledger'))
    expect(leaseLog.some(name => name.endsWith('.set-aside'))).toBe(true)
  })
})

describe('a clock that is set by a day during a run', () => {
  it('while it waits for the rate limit does not change what is exported, nor prolong the wait', async () => {
    const hour = { hourMs: 6_000, hourlyRequests: 8, speed: 1 }
    const world = { ...hour, conversations: 150, arrivalsPerDay: 0 }
    const scene = await faultScene({ sandbox: world, workspace: { hour: '6s', requestsPerHour: 8, pageSize: 20 } })
    const ended = await scene.run(['sync', '--yes'], clockSet(-DAY, 2_500))
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stderr).toContain('waiting')
    expect(await exportedTwice(scene)).toEqual([])
    await expectComplete(scene)
  })
})

interface Polled {
  outcome: string
  held: { id: string }[]
  windows: { to_ms: string; negative: string }
}

/** Opens an app whose clock is `aheadMs` ahead of the vendor's, syncs, and returns the stored data. */
async function syncedAt({ config, sandbox }: SimulatedApp, aheadMs: number): Promise<Polled> {
  const time = simulatedTime(sandbox.clock)
  const clock: Clock = {
    now: () => time.now() + aheadMs,
    sleepUntil: (untilMs, signal) => time.sleepUntil(untilMs - aheadMs, signal),
  }
  const app = await openApp({ config })
  const { signal } = new AbortController()
  const run = { config, workspace: config.workspaces[0]!, app, signal, clock, request: PLAIN_SYNC }
  const { rows } = app.warehouse.writer
  try {
    const { outcome } = (await syncOnce(run))!
    const held = await rows<{ id: string }>('SELECT conversation_id AS id FROM conversations ORDER BY id')
    const [windows] = await rows<Polled['windows']>(
      'SELECT epoch_ms(max(to_at))::VARCHAR AS to_ms, count(*) FILTER (from_at > to_at)::VARCHAR AS negative FROM _windows',
    )
    return { outcome, held, windows: windows! }
  } finally {
    await app.close()
  }
}

describe('syncs by a clock that is a day ahead, behind, and right again', () => {
  it('close no window over conversations that do not exist yet, and export each conversation once', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 20, arrivalsPerDay: 400, agents: 2 } })
    const { sandbox } = simulated
    await simulated.close()
    let count = 0
    let throughMs = 0
    for (const aheadMs of isDeep ? [0, DAY, 0, -DAY, DAY, -DAY, 0] : [0, DAY, -DAY, 0]) {
      sandbox.clock.advance(40 * MINUTE)
      // By a clock that is behind, a second has passed later.
      throughMs = Math.max(throughMs, readThrough(sandbox.clock.now() + Math.min(0, aheadMs), SETTLE_MS))
      const { outcome, held, windows } = await syncedAt(simulated, aheadMs)
      expect(outcome).toBe('done')
      const truth = truthOf(sandbox, { throughMs }).map(({ record }) => String(record.ID))
      expect(held.map(({ id }) => id)).toEqual(truth.sort())
      expect(windows.negative).toBe('0')
      expect(Number(windows.to_ms)).toBeLessThanOrEqual(throughMs)
      count = held.length
    }
    const returned = (await simulated.exported()).reduce((sum, request) => sum + request.returned, 0)
    expect(returned).toBe(count)
  })
})
