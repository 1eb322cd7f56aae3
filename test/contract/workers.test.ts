// Workers in processes of their own: what each of them is for, and what a sync comes to when they are ended or killed.
import { createServer } from 'node:net'
import type { Client } from '@temporalio/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import { askForSync, type OwnerHandle } from '../../src/run/temporal/client/owner.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { cli } from '../cli/cli-process.ts'
import { connected, describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { until } from '../until.ts'
import { ended, expectTruth, paidTwice } from './afterwards.ts'
import { reportOf } from './hosts.ts'
import { elsewhere, scene, TOKEN } from './scene.ts'
import { workerProcess, writeConfig } from './worker-process.ts'

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

/** A worker that was lost is missed after ten seconds, and tasks that were on their way to it after ten more. */
const PATIENCE = { timeout: 150_000 }

describeWithTemporal('workers', ({ place }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  async function app(sandbox: Partial<SandboxOptions> = {}, lease = '2m') {
    const there = await scene(elsewhere, { sandbox: { conversations: 200, ...sandbox }, settings: { maxPage: 10 } })
    const path = await writeConfig(there.config, lease)
    const worker = (role: 'export' | 'warehouse' | 'all', more: string[] = []) =>
      workerProcess({ place, path, role, more })
    const ask = async (): Promise<OwnerHandle> => {
      const request = { ...PLAIN_SYNC, workspaceId: there.config.workspaces[0]!.id }
      const { handle } = await askForSync(client, { queues: there.config.temporal.queues, request })
      onTestFinished(() => handle.terminate().catch(() => {}) as Promise<void>)
      return handle
    }
    return { ...there, worker, ask }
  }

  it('share the work by role, tell Prometheus, log their syncs, and end in good order', async () => {
    const there = await app()
    const metrics = `127.0.0.1:${await freePort()}`
    const running = [await there.worker('warehouse', ['--metrics', metrics]), await there.worker('export')]
    expect(await reportOf(await there.ask())).toMatchObject({ outcome: 'done', failures: [] })
    expect(await (await fetch(`http://${metrics}/metrics`)).text()).toContain('temporal_workflow_completed')
    for (const one of running) await ended(one)
    const lines = (await running[0]!.ended).stderr.trim().split('\n')
    expect(lines.filter(line => !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ./.test(line))).toEqual([])
    const told = lines.flatMap(line => /ws_demo: sync \S+ (.*)/.exec(line)?.[1] ?? [])
    expect(told).toEqual([
      'begins: 3 windows to read',
      expect.stringMatching(/^ended: done, \d+ conversations in \d+ pages, \d+ requests, \d+ sessions billed$/),
    ])
    await expectTruth(there)
    expect(await paidTwice(there)).toBe(0)
  })

  it('that are killed in the middle of a lease cost the requests that were under way', PATIENCE, async () => {
    const there = await app({ latencyMs: 60 }, '3s')
    const warehouse = await there.worker('warehouse')
    const first = await there.worker('export')
    const handle = await there.ask()
    await until(async () => (await there.bought()).length >= 8)
    first.process.kill('SIGKILL')
    const second = await there.worker('export')
    expect(await reportOf(handle)).toMatchObject({ outcome: 'done', failures: [] })
    for (const one of [second, warehouse]) await ended(one)
    await expectTruth(there)
    expect(await paidTwice(there)).toBeLessThanOrEqual(4)
  })

  it('of the warehouse that are killed lose nothing', PATIENCE, async () => {
    const there = await app({ latencyMs: 30 })
    const first = await there.worker('warehouse')
    const exporting = await there.worker('export')
    const handle = await there.ask()
    await until(async () => (await there.bought()).length >= 4)
    first.process.kill('SIGKILL')
    await first.ended
    const second = await there.worker('warehouse')
    expect(await reportOf(handle)).toMatchObject({ outcome: 'done', failures: [] })
    for (const one of [second, exporting]) await ended(one)
    await expectTruth(there)
    expect(await paidTwice(there)).toBe(0)
  })
})

describe('a worker without a server', () => {
  it('says so', async () => {
    const there = await scene(elsewhere)
    const path = await writeConfig(there.config, '2m')
    const env = { WORKER_TOKEN: TOKEN, TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` }
    const { code, stderr } = await cli(['worker', '--config', path], { env })
    expect(code).toBe(5)
    expect(stderr).toContain('error TEMPORAL_UNREACHABLE')
    expect((await cli(['worker', '--role', 'both', '--config', path], { env })).code).toBe(2)
  })
})
