import { expect, it } from 'vitest'
import { openRun } from '../../src/app.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import type { Steps } from '../../workflows/steps.ts'
import { syncWorkspace } from '../../workflows/sync.ts'
import { simulatedHost } from './simulated-host.ts'
import { simulatedHouse } from './simulated-house.ts'
import { simulatedTime } from './simulated-time.ts'

it('the first rows are loaded while the rest is fetched, and the rest in few loads', async () => {
  const simulated = await simulatedHouse({ sandbox: { conversations: 900 }, settings: { maxPage: 5 } })
  const { config, house, sandbox } = simulated
  const [workspace] = config.workspaces
  const clock = simulatedTime(sandbox.clock)
  const signal = new AbortController().signal
  const { run, steps, close } = await openRun({ config, workspace: workspace!, house, signal, clock })
  const told: ('fetched' | 'loaded')[] = []
  const counted: Steps = {
    ...steps,
    fetchPages: input => steps.fetchPages(input).finally(() => told.push('fetched')),
    load: input => steps.load(input).finally(() => told.push('loaded')),
  }
  const host = simulatedHost(clock, { signal, tell: () => {} })
  const report = await syncWorkspace(counted, host, { ...PLAIN_SYNC, run, workspaceId: workspace!.id })
  await close()
  expect(report).toMatchObject({ outcome: 'done', failures: [] })
  expect(report.pages).toBeGreaterThan(150)
  const loads = told.filter(each => each === 'loaded').length
  expect(told.indexOf('loaded')).toBeLessThan(told.lastIndexOf('fetched'))
  expect(loads).toBeLessThanOrEqual(Math.ceil(report.pages / 100) + 3)
  const rows = await simulated.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations')
  expect(rows[0]!.n).toBe(report.conversations)
})
