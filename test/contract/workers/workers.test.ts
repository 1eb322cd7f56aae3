// Workers in separate processes: the role of each, and the outcome of a sync when they are ended or killed.
import { createServer } from 'node:net'
import type { Client } from '@temporalio/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { PLAIN_SYNC } from '../../../src/run/embedded.ts'
import { askForSync, type OwnerHandle } from '../../../src/run/temporal/client/owner.ts'
import { CONCURRENT_WINDOWS } from '../../../workflows/window-loop.ts'
import { cli } from '../../cli/cli-process.ts'
import { inProcess } from '../../cli/in-process.ts'
import { connected, describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { until } from '../../until.ts'
import { ended, expectTruth, repeatedRequests } from '../expectations.ts'
import { reportOf } from '../hosts.ts'
import { elsewhere, scene, TOKEN } from '../scene.ts'
import { workerProcess, writeConfig } from './worker-process.ts'

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

describeWithTemporal('workers', ({ place }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  /** A workspace whose workers are processes of the built command. */
  async function app() {
    const there = await scene(elsewhere, { sandbox: { conversations: 400, latencyMs: 60 }, settings: { maxPage: 10 } })
    const path = await writeConfig(there.config, '3s')
    const worker = (role: 'export' | 'warehouse', more: string[] = []) => workerProcess({ place, path, role, more })
    const ask = async (): Promise<OwnerHandle> => {
      const request = { ...PLAIN_SYNC, workspaceId: there.config.workspaces[0]!.id }
      const { handle } = await askForSync(client, { queues: there.config.temporal.queues, request })
      onTestFinished(() => handle.terminate().catch(() => {}) as Promise<void>)
      return handle
    }
    return { ...there, worker, ask }
  }

  it('share the work by role; a killed export worker costs its requests in flight and a killed warehouse worker nothing; their successors serve metrics, log their syncs and end cleanly', async () => {
    const there = await app()
    const first = { warehouse: await there.worker('warehouse'), export: await there.worker('export') }
    const handle = await there.ask()
    const more = async (count: number) => {
      const before = (await there.exported()).length
      await until(async () => (await there.exported()).length >= before + count)
    }
    await more(8)
    first.export.process.kill('SIGKILL')
    const metrics = `127.0.0.1:${await freePort()}`
    const exporting = await there.worker('export')
    await more(4)
    first.warehouse.process.kill('SIGKILL')
    await first.warehouse.ended
    const warehouse = await there.worker('warehouse', ['--metrics', metrics])
    expect(await reportOf(handle)).toMatchObject({ outcome: 'done', failures: [] })
    expect(await repeatedRequests(there)).toBeLessThanOrEqual(CONCURRENT_WINDOWS)

    expect(await reportOf(await there.ask())).toMatchObject({ outcome: 'done', failures: [] })
    expect(await (await fetch(`http://${metrics}/metrics`)).text()).toContain('temporal_workflow_completed')
    for (const one of [warehouse, exporting]) await ended(one)
    const lines = (await warehouse.ended).stderr.trim().split('\n')
    expect(lines.filter(line => !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ./.test(line))).toEqual([])
    const logged = lines.flatMap(line => /ws_demo: sync \S+ (.*)/.exec(line)?.[1] ?? [])
    const end = expect.stringMatching(
      /^ended: done; \d+ conversations in \d+ pages, \d+ requests, \d+ sessions billed$/,
    )
    expect(logged.slice(-3)).toEqual([end, expect.stringMatching(/^begins: \d windows? to read$/), end])
    await expectTruth(there)
  })
})

describe('a worker without a Temporal server', () => {
  it('ends with TEMPORAL_UNREACHABLE', async () => {
    const there = await scene(elsewhere)
    const path = await writeConfig(there.config, '2m')
    const env = { WORKER_TOKEN: TOKEN, TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` }
    const { code, stderr } = await cli(['worker', '--config', path], { env })
    expect(code).toBe(5)
    expect(stderr).toContain('error TEMPORAL_UNREACHABLE')
    expect((await inProcess(['worker', '--role', 'both', '--config', path], { env })).code).toBe(2)
  })
})
