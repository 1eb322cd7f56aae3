// Recovery of a lease whose holder was lost, with a real landing and lease log.
import { spawnSync } from 'node:child_process'
import { hostname } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openWorkspaceContexts } from '../../src/app/workspace-context.ts'
import { newRunId } from '../../src/app.ts'
import { ConvohouseError } from '../../src/core/errors.ts'
import {
  type GovernorState,
  type Grant,
  govern,
  newGovernor,
  SPARE_REQUESTS,
} from '../../src/core/governor/governor.ts'
import { unobservedAnswer } from '../../src/core/governor/lease-entries.ts'
import { newProgress, type WindowProgress } from '../../src/core/planning/windows.ts'
import { grantedPeriod } from '../../src/core/quota/billing-period.ts'
import { newQuota } from '../../src/core/quota/quota.ts'
import { openLeaseLog } from '../../src/landing/lease-log.ts'
import { holderOf } from '../../src/steps/export/lease-recovery.ts'
import { type SimulatedApp, WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

const MINUTE = 60_000

const grantOf = (nowMs: number, more: Partial<Grant> = {}): Grant => ({
  lease: 'wf-1',
  kind: 'tail',
  requests: 5,
  sessions: 500,
  limit: 10,
  pageSessions: 20,
  deadlineMs: nowMs + 2 * MINUTE,
  period: grantedPeriod(newQuota(), 0),
  ...more,
})

function windowOf({ sandbox }: SimulatedApp): WindowProgress {
  const nowMs = sandbox.clock.now()
  const name = 'a-window'
  const [agentId] = sandbox.world.agentIds()
  return newProgress({ name, agentId: agentId!, kind: 'tail', fromSec: null, toSec: nowMs / 1_000, openedAtMs: nowMs })
}

/** Returns the workspace's steps and context, as a separate process opens them on the same data folder. */
async function processAt({ config, clock }: SimulatedApp, holder: string | undefined) {
  const contexts = openWorkspaceContexts({
    config,
    leaseMs: 2 * MINUTE,
    ...(holder !== undefined && { holder }),
    clock: clock.within,
  })
  onTestFinished(() => contexts.close())
  return contexts.of({ workspaceId: WORKSPACE })
}

async function setUp({ holder }: { holder?: string } = {}) {
  const simulated = await simulatedApp({ sandbox: { conversations: 200 }, settings: { maxPage: 10 } })
  const { steps, workspaceContext } = await processAt(simulated, holder)
  const call = { signal: new AbortController().signal }
  return { simulated, steps, workspaceContext, call, request: { workspaceId: WORKSPACE, run: newRunId() } }
}

describe('a lease that ended', () => {
  it('is recovered with the result that was reported', async () => {
    const { simulated, steps, call, request } = await setUp()
    const input = { request, progress: windowOf(simulated), grant: grantOf(simulated.sandbox.clock.now()) }
    const result = await steps.fetchPages(input, call)
    expect(result.pages).toBe(5 - SPARE_REQUESTS)
    expect(await steps.recoverLease(input, call)).toEqual(result)
    expect(await steps.heldUntilMs()).toBeNull()
    // This also holds if the step's result was lost: the lease log alone shows that the lease ended.
    expect(await steps.heldUntilMs(input.grant)).toBeNull()
  })
})

/** Returns the name of a process that has ended. */
function endedHolder(): string {
  const { pid } = spawnSync('true')
  return `${hostname()}/${pid}/id`
}

describe('a lease whose answer cannot be logged', () => {
  it('counts the page, which has landed', async () => {
    const { simulated, steps, workspaceContext, call, request } = await setUp()
    const { append } = workspaceContext.leaseLog
    const full = new ConvohouseError('HOME_UNUSABLE', { what: 'The disk is full.' })
    workspaceContext.leaseLog.append = async entry => (entry.kind === 'request' ? Promise.reject(full) : append(entry))
    const grant = grantOf(simulated.sandbox.clock.now())
    const result = await steps.fetchPages({ request, progress: windowOf(simulated), grant }, call)
    expect(result).toMatchObject({ pages: 1, failure: { code: 'HOME_UNUSABLE' } })
    expect(await workspaceContext.landing.list('conversations')).toHaveLength(1)
  })
})

describe('a lease that names its process', () => {
  it.each([
    ['is over before its deadline if that process has ended', endedHolder(), true],
    ['is held while that process lives, also where another process holds the warehouse', holderOf('id'), false],
    ['is held if that process cannot be looked up from this machine', 'elsewhere/1/id', false],
  ])('%s', async (_what, holder, isOver) => {
    const { simulated, steps, workspaceContext, call, request } = await setUp({ holder })
    const grant = grantOf(simulated.sandbox.clock.now())
    const { append } = workspaceContext.leaseLog
    // Keeps the end of the lease out of the lease log, as a kill would.
    workspaceContext.leaseLog.append = async entry => (entry.kind === 'end' ? undefined : append(entry))
    await steps.fetchPages({ request, progress: windowOf(simulated), grant }, call)
    const heldMs = grant.deadlineMs + workspaceContext.timeoutMs
    for (const of of [undefined, grant]) expect(await steps.heldUntilMs(of)).toBe(heldMs)

    for (const other of [holderOf('another'), undefined]) {
      const next = await processAt(simulated, other)
      for (const of of [undefined, grant]) expect(await next.steps.heldUntilMs(of)).toBe(isOver ? null : heldMs)
    }
  })
})

describe('a lease whose holder was lost', () => {
  it('is held until its deadline plus a request timeout, and counts one unseen request, once', async () => {
    const { simulated, steps, workspaceContext, call, request } = await setUp()
    const nowMs = simulated.sandbox.clock.now()
    const input = { request, progress: windowOf(simulated), grant: grantOf(nowMs) }
    // The process was killed after two of the lease's five requests, so the lease log has no end of the lease.
    const served = await steps.fetchPages(
      { ...input, grant: grantOf(nowMs, { lease: 'wf-0', requests: 2 + SPARE_REQUESTS }) },
      call,
    )
    const leaseLog = openLeaseLog({ home: simulated.config.home, workspaceId: WORKSPACE, run: 'killed' })
    onTestFinished(() => leaseLog.close())
    const { agentId, name } = input.progress.window
    const { lease, requests, sessions, pageSessions, deadlineMs } = input.grant
    const granted = { lease, requests, sessions, pageSessions, deadlineMs, agentId, window: name }
    await leaseLog.append({ kind: 'lease', ...granted, atMs: nowMs })
    for (const answer of served.answers)
      await leaseLog.append({ kind: 'request', lease, agentId, error: null, ...answer })

    const heldMs = await steps.heldUntilMs()
    expect(heldMs).toBe(deadlineMs + workspaceContext.timeoutMs)
    expect(await steps.heldUntilMs(input.grant)).toBe(heldMs)
    simulated.advance(heldMs! - nowMs + 1)
    for (const of of [undefined, input.grant]) expect(await steps.heldUntilMs(of)).toBeNull()

    const recovered = await steps.recoverLease(input, call)
    expect(recovered).toMatchObject({
      pages: 2,
      failure: null,
      progress: { sequence: 3, returned: served.conversations },
    })
    expect(recovered.answers.map(({ status }) => status)).toEqual([200, 200, null])
    expect(recovered.answers.at(-1)).toMatchObject({ givenUp: true })
    // A second call, as after a lost result, returns the same outcome.
    expect(await steps.recoverLease(input, call)).toEqual(recovered)
  })

  it('counts a request that may follow an attempt without a connection, and assumes no bill for it', async () => {
    const { simulated, steps, workspaceContext, call, request } = await setUp()
    const nowMs = simulated.sandbox.clock.now()
    const input = { request, progress: windowOf(simulated), grant: grantOf(nowMs) }
    const { lease, requests, sessions, pageSessions, deadlineMs } = input.grant
    const granted = { lease, requests, sessions, pageSessions, deadlineMs, agentId: 'a', window: 'a-tail', atMs: nowMs }
    await workspaceContext.leaseLog.append({ kind: 'lease', ...granted })
    const unsent = { ...unobservedAnswer(nowMs), unsent: true }
    await workspaceContext.leaseLog.append({
      kind: 'request',
      lease,
      agentId: 'a',
      error: 'API_UNAVAILABLE',
      ...unsent,
    })
    const { answers } = await steps.recoverLease(input, call)
    const leases = [{ id: lease, kind: 'tail' as const, agentId: 'a', requests, sessions, pageSessions, deadlineMs }]
    const holding: GovernorState = { ...newGovernor(), leases: leases.map(held => ({ ...held, made: 0, billed: 0 })) }
    const state = answers.reduce((governor, answer) => govern(governor, { kind: 'answered', lease, answer }), holding)
    expect([state.spent.requests, state.quota.pending]).toEqual([1, null])
  })

  it('was never started if the lease log does not contain it', async () => {
    const { simulated, steps, call, request } = await setUp()
    const input = { request, progress: windowOf(simulated), grant: grantOf(simulated.sandbox.clock.now()) }
    expect(await steps.heldUntilMs(input.grant)).toBeNull()
    const nothing = {
      progress: input.progress,
      answers: [],
      pages: 0,
      conversations: 0,
      failure: null,
    }
    expect(await steps.recoverLease(input, call)).toEqual(nothing)
    // A worker that gets the task late checks first whether the lease is still held, and does nothing.
    expect(await steps.fetchPages(input, { ...call, isHeld: async () => false })).toEqual(nothing)
    expect(await steps.heldUntilMs()).toBeNull()
    expect(await steps.recoverLease(input, call)).toEqual(nothing)
  })
})

describe('a lease of the embedded host', () => {
  it('needs no waiting: the previous holder of the warehouse is dead', async () => {
    const { simulated, steps } = await setUp()
    const leaseLog = openLeaseLog({ home: simulated.config.home, workspaceId: WORKSPACE, run: 'killed' })
    onTestFinished(() => leaseLog.close())
    const nowMs = simulated.sandbox.clock.now()
    const { lease: _lease, limit: _limit, kind: _kind, ...granted } = grantOf(nowMs)
    await leaseLog.append({ kind: 'lease', lease: 'embedded-1', ...granted, agentId: 'a', window: 'w', atMs: nowMs })
    expect(await steps.heldUntilMs()).toBeNull()
  })
})
