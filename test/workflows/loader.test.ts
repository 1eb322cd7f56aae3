// When landed pages are loaded: early in a first sync, at the end of a later one.
import { expect, it } from 'vitest'
import { openRun } from '../../src/app.ts'
import { DAY } from '../../src/core/time.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import type { Steps } from '../../workflows/steps.ts'
import { syncWorkspace } from '../../workflows/sync.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { simulatedHost } from './simulated/simulated-host.ts'
import { simulatedTime } from './simulated/simulated-time.ts'

function latch() {
  let open = () => {}
  const opened = new Promise<void>(done => {
    open = done
  })
  return { opened, open: () => open() }
}

it('a first sync loads its first rows while it fetches the rest, and the rest in few loads', async () => {
  const simulated = await simulatedApp({ sandbox: { conversations: 400 }, settings: { maxPage: 5 } })
  const { config, app, sandbox } = simulated
  const [workspace] = config.workspaces
  const clock = simulatedTime(sandbox.clock)
  const signal = new AbortController().signal
  const { run, steps, close } = await openRun({ config, workspace: workspace!, app, signal, clock })
  let [leases, loads] = [0, 0]
  const [listing, firstRows] = [latch(), latch()]
  const counted: Steps = {
    ...steps,
    async fetchPages(input) {
      leases += 1
      // Once the listing of the agents is loaded, six leases may fetch; all others wait until the first rows are loaded. A loader
      // that waited for more pages than six leases return would wait forever.
      await (leases > 6 ? firstRows : listing).opened
      return steps.fetchPages(input)
    },
    async load(input) {
      loads += 1
      const loaded = await steps.load(input)
      if (loads === 1) listing.open()
      else firstRows.open()
      return loaded
    },
  }
  const host = simulatedHost(clock, { signal, notify: () => {} })
  const report = await syncWorkspace(counted, host, { ...PLAIN_SYNC, run, workspaceId: workspace!.id })
  await close()
  expect(report).toMatchObject({ outcome: 'done', failures: [] })
  expect(report.pages).toBeGreaterThan(60)
  expect(loads).toBeLessThanOrEqual(Math.ceil(report.pages / 100) + 3)
  const rows = await simulated.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations')
  expect(rows[0]!.n).toBe(report.conversations)
})

it('a sync of a workspace that has rows loads once, after everything has landed', async () => {
  const simulated = await simulatedApp({
    sandbox: { conversations: 40, arrivalsPerDay: 60 },
    settings: { maxPage: 5 },
  })
  await simulated.sync()
  const { config, app, sandbox } = simulated
  sandbox.clock.advance(DAY)
  const clock = simulatedTime(sandbox.clock)
  const signal = new AbortController().signal
  const { run, steps, close } = await openRun({ config, workspace: config.workspaces[0]!, app, signal, clock })
  const done: string[] = []
  const noted: Steps = {
    ...steps,
    async fetchPages(input) {
      const fetched = await steps.fetchPages(input)
      done.push('fetched')
      return fetched
    },
    load(input) {
      done.push('load')
      return steps.load(input)
    },
  }
  const host = simulatedHost(clock, { signal, notify: () => {} })
  const report = await syncWorkspace(noted, host, { ...PLAIN_SYNC, run, workspaceId: config.workspaces[0]!.id })
  await close()
  expect(report.pages).toBeGreaterThan(3)
  expect(done.filter(what => what === 'load')).toHaveLength(1)
  expect(done.at(-1)).toBe('load')
})
