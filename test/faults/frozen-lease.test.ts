// Processes that are frozen under a lease, wake when others have taken the lease over, and send nothing that is not counted.
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { openWorkspaceContexts } from '../../src/app/workspace-context.ts'
import { systemClock } from '../../src/clock.ts'
import { type Grant, SPARE_REQUESTS } from '../../src/core/governor/governor.ts'
import { newProgress } from '../../src/core/planning/windows.ts'
import { grantedPeriod } from '../../src/core/quota/billing-period.ts'
import { newQuota } from '../../src/core/quota/quota.ts'
import { openLeaseLog } from '../../src/landing/lease-log.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { newDeferred } from '../../workflows/deferred.ts'
import type { FetchInput, LeaseOutcome } from '../../workflows/steps.ts'
import { start } from '../cli/cli-process.ts'
import { listening } from '../ports.ts'
import { openScene, TOKEN_ENV, WORKSPACE } from '../scene.ts'

const PROGRAM = fileURLToPath(new URL('../../dist/test/faults/leased-process.js', import.meta.url))
const CERTIFICATE = join(import.meta.dirname, '../cli/self-signed.pem')
const [MINUTE, PAGES] = [60_000, 3]

type Stage = 'connecting' | 'answering'

/** Opens a server for TLS before the sandbox. It holds everything at the stage until `release` is called. */
async function openGate(stage: Stage) {
  const [reached, released] = [newDeferred(), newDeferred()]
  const requests: string[] = []
  let to: Sandbox | undefined
  const pass = async (at: Stage) => {
    if (at !== stage) return
    reached.resolve()
    await released.promise
  }
  const pem = readFileSync(CERTIFICATE)
  const tls = createTlsServer({ key: pem, cert: pem }, async ({ url, headers }, response) => {
    requests.push(url!)
    await pass('answering')
    const answer = await fetch(`${to!.url}${url}`, { headers: { authorization: headers.authorization! } })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  // The client's part of the handshake waits in the socket, which nobody reads before.
  const port = await listening(createServer(socket => pass('connecting').then(() => tls.emit('connection', socket))))
  onTestFinished(() => tls.closeAllConnections())
  const through = async (sandbox: Sandbox) => {
    to = sandbox
    return `https://127.0.0.1:${port}`
  }
  return { through, requests, reached: reached.promise, release: () => released.resolve() }
}

it.each<[string, Stage, 'over' | 'held', number]>([
  ['while it connects sends nothing once its lease is over', 'connecting', 'over', 0],
  ['while it waits for an answer sends nothing more once its lease is over', 'answering', 'over', 1],
  ['while it connects reads all pages of its lease if it wakes before the end', 'connecting', 'held', PAGES],
])('a process that is frozen %s', async (_what, stage, state, sent) => {
  const gate = await openGate(stage)
  const { through } = gate
  const { sandbox, config, file, folder, close } = await openScene({ sandbox: { conversations: 200 }, through })
  onTestFinished(close)
  const atMs = systemClock.now()
  const laterMs = atMs + (state === 'over' ? 30 * MINUTE : 0)
  const grant: Grant = {
    ...{ lease: 'wf-1', kind: 'tail', requests: PAGES + SPARE_REQUESTS, sessions: 500, limit: 10, pageSessions: 20 },
    ...{ deadlineMs: atMs + 2 * MINUTE, period: grantedPeriod(newQuota(), 0) },
  }
  const [agentId] = sandbox.world.agentIds()
  const bounds = { fromSec: null, toSec: Math.floor(atMs / 1_000), openedAtMs: atMs }
  const progress = newProgress({ name: 'a-tail', agentId: agentId!, kind: 'tail', ...bounds })
  const input: FetchInput = { request: { workspaceId: WORKSPACE, run: 'frozen' }, progress, grant }
  const clock = join(folder, 'clock')
  await writeFile(clock, String(atMs))

  const env = { ...TOKEN_ENV, NODE_EXTRA_CA_CERTS: CERTIFICATE }
  const frozen = start([file, JSON.stringify(input), clock], { main: PROGRAM, env })
  await Promise.race([gate.reached, frozen.ended.then(({ stderr }) => expect(stderr).toBe('frozen'))])
  frozen.process.kill('SIGSTOP')
  await writeFile(clock, String(laterMs))

  // As the workflow that gives up the lease, in another process.
  const contexts = openWorkspaceContexts({ config, leaseMs: 2 * MINUTE, clock: { ...systemClock, now: () => laterMs } })
  onTestFinished(() => contexts.close())
  const { steps } = await contexts.of({ workspaceId: WORKSPACE })
  const heldUntilMs = await steps.heldUntilMs(grant)
  expect(heldUntilMs === null).toBe(state === 'over')
  if (state === 'over') {
    const recovered = await steps.recoverLease(input, { signal: new AbortController().signal })
    expect(recovered).toMatchObject({ pages: 0, answers: [{ status: null, givenUp: true }] })
  }

  gate.release()
  frozen.process.kill('SIGCONT')
  const { code, stdout, stderr } = await frozen.ended
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout) as LeaseOutcome).toMatchObject({ pages: sent, failure: null })
  expect(gate.requests).toHaveLength(sent)

  // Each request that was sent is counted by the next run.
  const leaseLog = openLeaseLog({ home: config.home, workspaceId: WORKSPACE, run: 'next' })
  onTestFinished(() => leaseLog.close())
  const entries = await leaseLog.recent(laterMs, 60 * MINUTE)
  expect(entries.filter(({ kind }) => kind === 'request')).toHaveLength(state === 'over' ? sent + 1 : sent)
})
