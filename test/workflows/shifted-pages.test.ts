// Records that leave a window while it is read. If cursors are offsets, the next page then skips records (ADR 6).
import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { gapLines } from '../../src/cli/terminal/notes.ts'
import { HOUR, MINUTE } from '../../src/core/time.ts'
import { reconcileWorkspace } from '../../src/reports/reconciliation.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { listening } from '../ports.ts'
import { isDeep } from '../tier.ts'
import type { Behaviour } from '../vendor-model/behaviours.ts'
import { newWorld, type VendorPlan, type World } from '../vendor-model/history.ts'
import { modelTransport } from '../vendor-model/model-transport.ts'
import { agent } from '../vendor-model/scenario.ts'
import { type SimulatedApp, START_MS, WORKSPACE } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'

const OFFSETS: Behaviour = { kind: 'cursor-is-offset' }

/** Serves the model of the vendor by the sandbox's clock. `before` is called before a page after the first one is answered. */
async function serve({ transport }: World, { clock }: Sandbox, before: () => void): Promise<string> {
  const now = () => clock.now()
  const atOnce = async () => {}
  const { send } = modelTransport(transport, { now, trueNow: now, wait: atOnce, mayDie: atOnce })
  const server = createServer(async (request, response) => {
    if (request.url!.includes('cursor=')) before()
    const sent = request.url!
    const { exchange } = await send(
      { sent, shown: sent, method: 'GET', path: sent },
      { accept: '', token: '', allowed: () => true },
    )
    const { status, body, serverDateMs } = exchange!
    response.writeHead(status, { 'content-type': 'application/json', date: new Date(serverDateMs!).toUTCString() })
    response.end(body)
  })
  return `http://127.0.0.1:${await listening(server)}`
}

/** Returns an app whose vendor has that many conversations, a minute apart. */
async function appOf(conversations: number, behaviours: Behaviour[], vendor: VendorPlan = {}) {
  const agents = [agent('a', conversations, { historyDays: conversations / (24 * 60) })]
  const world = newWorld({ seed: 1, agents, behaviours, vendor, steps: [] })
  const onNextPage: { run: (sandbox: Sandbox) => void } = { run: () => {} }
  const simulated = await simulatedApp({
    settings: { maxPage: 100, rereadShare: 0.01, mirrorLagMs: 2 * MINUTE },
    through: sandbox => serve(world, sandbox, () => onNextPage.run(sandbox)),
  })
  // After an hour, all conversations have settled.
  simulated.advance(HOUR)
  const billed = () => world.vendor.bills.reduce((sum, { sessions }) => sum + sessions, 0)
  const missing = async () => {
    const rows = await simulated.rows<{ id: string }>('SELECT conversation_id AS id FROM conversations')
    const held = new Set(rows.map(({ id }) => id))
    const there = world.vendor.options.conversations.filter(({ goneMs }) => goneMs > simulated.clock.now())
    return there.flatMap(({ id }) => (held.has(id) ? [] : [id]))
  }
  return { simulated, world, onNextPage, billed, missing }
}

const rereads = async ({ rows }: SimulatedApp) =>
  (await rows<{ n: number }>("SELECT count(*)::INTEGER AS n FROM _windows WHERE kind = 'reread'"))[0]!.n

async function unverified({ app, config, clock }: SimulatedApp): Promise<number> {
  const { differences } = await reconcileWorkspace({
    rows: sql => app.warehouse.writer.rows(sql),
    workspaceId: WORKSPACE,
    settings: config.workspaces[0],
    agents: [],
    sinceMs: null,
    by: 'agent',
    nowMs: clock.now(),
  })
  return differences.find(({ kind }) => kind === 'unverified')?.count ?? 0
}

it('three records that leave a window before its second page hide three others only until they are seen gone: the range around the boundary is read again, once', async () => {
  const leave: Behaviour = { kind: 'records-leave', value: 3, times: 1 }
  const { simulated, billed, missing } = await appOf(450, [OFFSETS, leave])
  await simulated.sync()
  expect(await missing()).toEqual(['a347', 'a348', 'a349'])
  simulated.advance(2 * HOUR)
  const left = ['a447', 'a448', 'a449']
  const report = await simulated.sync({ mode: 'selected', ids: [['a', left]] })
  expect(gapLines(report.gaps, report.unverified)[0]).toMatch(/^a: .+ is not verified since .+: conversations left/)
  expect(await unverified(simulated)).toBeGreaterThan(0)
  const before = billed()
  expect((await simulated.sync()).unverified).toBeUndefined()
  expect(await missing()).toEqual([])
  expect(await unverified(simulated)).toBe(0)
  // The shift is at one of four boundaries; each has the records of its two ends.
  expect(billed() - before).toBeLessThanOrEqual(3 + 4 * 2)
  const count = await rereads(simulated)
  await simulated.replay()
  simulated.advance(HOUR)
  await simulated.sync()
  expect(await rereads(simulated)).toBe(count)
  expect(await simulated.rows('FROM late_rows')).toEqual([])
})

it('a vendor whose `ts` is the last activity hides no conversation for good if others move while history is read', async () => {
  const { simulated, world, onNextPage, billed, missing } = await appOf(700, [OFFSETS], { ts: 'activity' })
  // With each page, one of the newest conversations continues, which the first page has returned.
  for (const [index, one] of world.vendor.options.conversations.slice(-6, -1).entries())
    one.sessionsMs = [...one.sessionsMs, START_MS + HOUR + 2_000 * (index + 1)]
  onNextPage.run = ({ clock }) => clock.advance(2_000)
  await simulated.sync()
  expect(await missing()).toHaveLength(5)
  onNextPage.run = () => {}
  for (let round = 0; round < 2; round++) {
    simulated.advance(30 * MINUTE)
    await simulated.sync()
  }
  expect(await missing()).toEqual([])
  expect(await unverified(simulated)).toBe(0)
  expect(billed()).toBeLessThanOrEqual(700 + 2 * 5 + 7 * 3)
})

it.runIf(isDeep)('a vendor with keyset cursors and times of creation gets no request twice', async () => {
  const { simulated, billed, missing } = await appOf(450, [])
  await simulated.sync()
  for (let round = 0; round < 2; round++) {
    simulated.advance(HOUR)
    await simulated.sync({ mode: 'selected', ids: [['a', ['a1', 'a150']]] })
  }
  expect(await missing()).toEqual([])
  expect([await rereads(simulated), await unverified(simulated)]).toEqual([0, 0])
  expect(billed()).toBe(450 + 2 * 2)
})
