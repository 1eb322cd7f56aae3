// A sync of the embedded host on a data folder in which other processes still export.
import { describe, expect, it, onTestFinished } from 'vitest'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { Landing } from '../../src/landing/landing.ts'
import { openLeaseLog } from '../../src/landing/lease-log.ts'
import { PLAIN_SYNC, syncOnce } from '../../src/run/embedded.ts'
import type { ProgressUpdate } from '../../workflows/host.ts'
import { type SimulatedApp, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

const MINUTE = 60_000

const optionsOf = ({ config, app, clock }: SimulatedApp) => ({
  config,
  workspace: config.workspaces[0]!,
  app,
  clock: clock.within,
  signal: new AbortController().signal,
  request: PLAIN_SYNC,
})

/** Simulates an export worker on Temporal that holds a lease, after the worker that held the warehouse has ended. */
async function heldLease({ config, sandbox }: SimulatedApp) {
  const leaseLog = openLeaseLog({ home: config.home, workspaceId: WORKSPACE, run: 'export-worker' })
  onTestFinished(() => leaseLog.close())
  const atMs = sandbox.clock.now()
  const deadlineMs = atMs + 2 * MINUTE
  const [agentId] = sandbox.world.agentIds()
  const granted = { agentId: agentId!, window: 'a-window', requests: 5, sessions: 500, pageSessions: 20 }
  await leaseLog.append({ kind: 'lease', lease: 'wf-1', ...granted, atMs, deadlineMs })
  const end = () => leaseLog.append({ kind: 'end', lease: 'wf-1', atMs: sandbox.clock.now() })
  return { untilMs: deadlineMs + config.workspaces[0]!.timeoutMs, end }
}

describe('a sync beside an export worker whose warehouse worker was killed', () => {
  it('ends as interrupted if it is stopped while it waits, says until when it waits at the latest, exports only then, and begins as soon as the lease has ended', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 60 } })
    const { untilMs } = await heldLease(simulated)
    const stopping = new AbortController()
    const stopped = syncOnce({
      ...optionsOf(simulated),
      stopping: stopping.signal,
      onProgress: () => stopping.abort(new Error('stop')),
    })
    await expect(stopped).rejects.toMatchObject({ code: 'INTERRUPTED' })
    expect(await simulated.rows('SELECT outcome FROM _runs')).toEqual([{ outcome: 'interrupted' }])
    expect(await simulated.served()).toEqual([])

    const updates: ProgressUpdate[] = []
    const report = await syncOnce({ ...optionsOf(simulated), onProgress: update => updates.push(update) })
    expect(report).toMatchObject({ outcome: 'done', failures: [] })
    expect(updates.filter(({ kind }) => kind === 'planning')).toMatchObject([
      { heldUntilMs: untilMs },
      { heldUntilMs: null },
      { heldUntilMs: null },
    ])
    expect(Math.min(...(await simulated.served()).map(({ at }) => at))).toBeGreaterThanOrEqual(untilMs)

    const next = await heldLease(simulated)
    let begunMs = Number.POSITIVE_INFINITY
    const onProgress = (update: ProgressUpdate) => {
      if (update.kind !== 'planning') return
      if (update.heldUntilMs === null) begunMs = Math.min(begunMs, simulated.clock.now())
      else void simulated.clock.during(next.end)
    }
    const synced = simulated.clock.during(() => syncOnce({ ...optionsOf(simulated), onProgress }))
    expect(await synced).toMatchObject({ outcome: 'done' })
    expect(begunMs).toBeLessThan(next.untilMs)
  })
})

/** Returns the stores of a data folder in which another process lands each page of conversations a moment earlier. */
function racedStores({ app, config }: SimulatedApp): SimulatedApp['app'] {
  const { landing } = app.stores
  const workspace = (id: string): Landing => {
    const own = landing.workspace(id)
    const other = openLanding(config.home).workspace(id)
    const land: Landing['land'] = async (head, body) => {
      if (head.place.stream === 'conversations') await other.land(head, body)
      return own.land(head, body)
    }
    return { ...own, land }
  }
  return { ...app, stores: { ...app.stores, landing: { ...landing, workspace } } }
}

describe('a sync whose pages another process lands a moment earlier', () => {
  it('fails, and its run has every session that its requests billed', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 60 }, settings: { maxPage: 10 } })
    const report = await syncOnce({ ...optionsOf(simulated), app: racedStores(simulated) })
    expect(report!.failures[0]).toMatchObject({ code: 'LANDING_TAKEN' })
    const { billableUsedThisPeriod } = await simulated.usage()
    expect(billableUsedThisPeriod).toBeGreaterThan(0)
    expect(await simulated.rows('SELECT outcome, sessions::INTEGER AS sessions FROM _runs')).toEqual([
      { outcome: 'failed', sessions: billableUsedThisPeriod },
    ])
  })
})
