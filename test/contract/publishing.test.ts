// Publications on Temporal: each target has a workflow that is retried until it succeeds, no matter which worker runs.
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { expect, it } from 'vitest'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { publicationId } from '../../src/run/temporal/client/publication.ts'
import { start, temporaryFolder } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { rowsIn } from '../publish/published.ts'
import { connected, describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { until } from '../until.ts'
import { landConversations } from '../warehouse/landed-pages.ts'
import { payloadTexts, record } from './history.ts'
import { TOKEN } from './scene.ts'
import { workerProcess } from './workers/worker-process.ts'

const QUEUES = `publish-${process.pid}`
const GONE = { name: 'gone', type: 'snapshot', path: '/proc/no/gone.duckdb' }
const CANARY = 'canary-of-a-contact'

describeWithTemporal('publications on Temporal', ({ place, env }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  const handleOf = (name: string) => client.workflow.getHandle(publicationId(QUEUES, name))

  /** Returns the attempt of the workflow's activity, and the error code of the previous attempt. */
  async function attemptOf(name: string): Promise<{ attempt: number; code: string | null }> {
    const { raw } = await handleOf(name).describe()
    const [pending] = raw.pendingActivities ?? []
    return { attempt: pending?.attempt ?? 0, code: pending?.lastFailure?.applicationFailureInfo?.type ?? null }
  }

  const isRetried = async (name: string): Promise<boolean> => {
    const { attempt, code } = await attemptOf(name).catch(() => ({ attempt: 0, code: null }))
    return attempt > 1 && code === 'TARGET_UNUSABLE'
  }

  it('are retried until they succeed, also by the next worker, at once on request, and end with their target', async () => {
    const folder = await temporaryFolder()
    const [home, config] = [join(folder, 'data'), join(folder, 'convohouse.yaml')]
    const target = { name: 'bi', type: 'snapshot', path: join(folder, 'bi.duckdb') }
    const workspaces = [{ id: 'ws_demo', apiUrl: 'http://127.0.0.1:9', token: { env: 'WORKER_TOKEN' } }]
    const configure = (targets: object[]) =>
      writeFile(config, JSON.stringify({ home, threads: 1, temporal: { queues: QUEUES }, targets, workspaces }))
    const run = (...args: string[]) =>
      inProcess([...args, '--config', config], { env: { ...env, WORKER_TOKEN: TOKEN } })
    const records = [{ ID: 'a', userName: CANARY, state: 'open' }]
    await landConversations(openLanding(home).workspace('ws_demo'), { records })
    await configure([target, GONE])
    expect((await run('replay')).code).toBe(0)

    // A publication does not overwrite a file that no publication has written.
    await writeFile(target.path, 'precious')
    const first = await workerProcess({ place, path: config, role: 'warehouse' })
    await until(async () => (await isRetried('bi')) && (await isRetried('gone')))
    const asked = await run('publish', 'gone')
    expect([asked.code, asked.stderr]).toEqual([6, expect.stringContaining('TARGET_UNUSABLE')])
    await until(() => isRetried('gone'))
    const begun = await handleOf('bi').describe()
    first.process.kill('SIGKILL')
    await first.ended

    await configure([target])
    const second = start(['up', '--config', config], { env: { ...env, WORKER_TOKEN: TOKEN } })
    await second.said('A publication to bi failed (TARGET_UNUSABLE), and is tried again: ')
    await rm(target.path)
    // The data folder names the worker's server.
    const publishing = ['publish', '--verify', '--config', config]
    const verified = await inProcess(publishing, { env: { WORKER_TOKEN: TOKEN } })
    expect([verified.code, verified.stderr]).toEqual([0, ''])
    expect(verified.stdout).toMatch(/^bi: .*; \d+ tables compared, all equal\n$/)
    expect(await rowsIn(target.path, 'SELECT conversation_id, state FROM conversations')).toEqual([['a', 'open']])
    // The first worker began the publication; the second one completed it by itself or for the command.
    const continued = client.workflow.getHandle(begun.workflowId, begun.runId)
    expect(await continued.result()).toMatchObject({ target: 'bi' })
    expect(await handleOf('gone').result()).toBe(null)
    const status = await run('status', '--json')
    expect(status.stderr).toBe('')
    expect(JSON.parse(status.stdout).targets).toMatchObject([{ target: 'bi', behind: 0, failure: null }])

    for (const handle of [continued, handleOf('gone')]) {
      const history = payloadTexts(await handle.fetchHistory()).join('\n')
      expect(history).toContain('publishTarget')
      for (const secret of [CANARY, TOKEN]) expect(history).not.toContain(secret)
    }
    await record(handleOf('gone'), 'publication')
    await second.said('Publications to bi work again.')
    second.process.kill('SIGTERM')
    await second.ended
    expect(existsSync(join(home, 'temporal.json'))).toBe(false)
  })
})
