import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import type { CliOptions } from '../cli/cli-process.ts'
import { isDeep } from '../tier.ts'
import { exportedTwice, type FaultScene, faultScene } from './scene.ts'

/** Sets the wall clock of one process. `test/clock.test.ts` sets it while a process runs. */
const clockSet = (byMs: number): CliOptions => {
  const script = `const wall = Date.now; Date.now = () => wall() + ${byMs}`
  return { node: ['--import', `data:text/javascript,${encodeURIComponent(script)}`] }
}

const usageOf = async ({ sandbox }: FaultScene) => {
  const state = await (await fetch(`${sandbox.url}/_sandbox/state`)).json()
  return (state as { usage: { overageUsedThisPeriod: number; billableUsedThisPeriod: number } }).usage
}

describe('a clock that is set by a day between runs', () => {
  it.runIf(isDeep)('causes no request twice, no wait of a day, and no overage', async () => {
    const scene = await faultScene({
      sandbox: { conversations: 100, quotaSessions: 100, historyDays: 2_000 },
      workspace: { pageSize: 10 },
    })
    const exported: number[] = []
    for (const byMs of [DAY, -DAY]) {
      const ended = await scene.run(['sync', '--yes', '--no-wait', '--max-requests', '4'], clockSet(byMs))
      expect([0, 8], ended.stderr).toContain(ended.code)
      exported.push((await scene.exported()).length)
    }
    // Both syncs export: the leases that the first recorded with its clock one day ahead do not block the second.
    expect(new Set([0, ...exported]).size).toBe(3)
    expect(await exportedTwice(scene)).toEqual([])
    const ended = await scene.run(['sync', '--yes', '--no-wait'])
    expect(ended.code, ended.stderr).toBe(8)
    expect(await usageOf(scene)).toMatchObject({ overageUsedThisPeriod: 0 })
    const leaseLog = await readdir(join(scene.home, 'landing', 'ws_demo', 'ledger'))
    expect(leaseLog.some(name => name.endsWith('.set-aside'))).toBe(true)
  })
})
