// Workers of one task queue whose data folders differ.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { expect, it, onTestFinished } from 'vitest'
import { openStores } from '../../../src/app/stores.ts'
import { PLAIN_SYNC } from '../../../src/run/embedded.ts'
import { askForSync } from '../../../src/run/temporal/client/owner.ts'
import { cli, temporaryFolder } from '../../cli/cli-process.ts'
import { inProcess } from '../../cli/in-process.ts'
import { connected, describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { reportOf, startWorkerAt } from '../hosts.ts'
import { scene, TOKEN, WORKSPACE } from '../scene.ts'
import { workerProcess, writeConfig } from './worker-process.ts'

describeWithTemporal('workers of one queue with two data folders', ({ place, env }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  it('end the sync before anything is exported if the export worker was there first, which ends; are refused beside the one that holds the warehouse', async () => {
    const there = await scene({ sandbox: { conversations: 40 }, settings: { maxPage: 10 } })
    const other = { ...there.config, home: join(await temporaryFolder(), 'other') }
    await mkdir(other.home)
    const [path, otherPath] = [await writeConfig(there.config, '3s'), await writeConfig(other, '3s')]
    const sync = async () => {
      const request = { ...PLAIN_SYNC, workspaceId: WORKSPACE }
      const { handle } = await askForSync(client, { queues: there.config.temporal.queues, request })
      onTestFinished(() => handle.terminate().catch(() => {}) as Promise<void>)
      return reportOf(handle)
    }
    const wrong = await workerProcess({ place, path: otherPath, role: 'export' })
    const { app } = await startWorkerAt(path, place, 'warehouse')
    await expect(sync()).rejects.toMatchObject({ cause: { type: 'LANDING_DIFFERS' } })
    expect(await there.exported()).toEqual([])
    const { code, stderr } = await wrong.ended
    expect([code, stderr]).toEqual([6, expect.stringContaining('error LANDING_DIFFERS')])
    expect(
      await app!.warehouse.writer.rows('SELECT outcome, sessions::INTEGER AS sessions, error_code FROM _runs'),
    ).toEqual([{ outcome: 'failed', sessions: 0, error_code: 'LANDING_DIFFERS' }])

    const args = ['worker', '--role', 'all', '--config', otherPath]
    const refused = await cli(args, { env: { ...env, WORKER_TOKEN: TOKEN } })
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('error LANDING_DIFFERS')])
    const ids = await Promise.all([there.config, other].map(({ home }) => openStores(home).landing.id()))
    for (const said of [...ids, other.home, 'Stop this worker']) expect(refused.stderr).toContain(said)
    for (const command of [['status'], ['doctor', '--offline']]) {
      const { stdout } = await inProcess([...command, '--config', path], { env: { WORKER_TOKEN: TOKEN } })
      expect(stdout).toContain(`anding ${ids[0]}`)
    }
  })
})
