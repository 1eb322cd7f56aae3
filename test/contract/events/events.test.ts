// Webhook events during a sync: visible in SQL within seconds on every host.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@temporalio/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ingestId } from '../../../src/run/temporal/worker/drain.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import { type Running, start } from '../../cli/cli-process.ts'
import { inProcess } from '../../cli/in-process.ts'
import { connected, describeWithTemporal } from '../../run/temporal/with-temporal.ts'
import { spoolEvent } from '../../spool/arbitrary-events.ts'
import { until } from '../../until.ts'
import { payloadTexts } from '../history.ts'
import { startWorkerAt } from '../hosts.ts'
import { scene, TOKEN } from '../scene.ts'

const SECRET = 'canary-webhook-secret'
const CHECK_EVERY_MS = 500

/** A configured workspace with webhooks, and its commands. */
async function app(more: Record<string, string> = {}) {
  const { sandbox, config } = await scene()
  const { home, temporal } = config
  const path = join(home, 'convohouse.yaml')
  const workspace = {
    id: 'ws_demo',
    apiUrl: sandbox.url,
    token: { env: 'WORKER_TOKEN' },
    resources: 'none',
    webhooks: { secrets: [{ env: 'HOOK_SECRET' }] },
  }
  const settings = { home, threads: 1, webhooks: { port: 0 }, temporal: { queues: temporal.queues } }
  await writeFile(path, JSON.stringify({ ...settings, workspaces: [workspace] }))
  const options = { env: { WORKER_TOKEN: TOKEN, HOOK_SECRET: SECRET, ...more } }
  const run = (...args: string[]) => inProcess([...args, '--config', path], options)
  return {
    home,
    path,
    begin: (...args: string[]) => start([...args, '--config', path], options),
    run,
    async query<R>(sql: string): Promise<R[]> {
      const { code, stdout } = await run('query', sql, '--format', 'json')
      return code === 0 ? (JSON.parse(stdout) as R[]) : []
    },
  }
}

type App = Awaited<ReturnType<typeof app>>

/** The address at which the process receives events, read from its output. */
async function receiverOf(running: Running): Promise<string> {
  let said = ''
  for (const stream of [running.process.stdout!, running.process.stderr!])
    stream.on('data', text => {
      said += text
    })
  const address = /at (http:\S+\/webhooks)/
  await until(async () => address.test(said))
  return address.exec(said)![1]!
}

const post = async (url: string, payload: object): Promise<number> => {
  const body = JSON.stringify({ ...payload, workspaceSecret: SECRET })
  return (await fetch(url, { method: 'POST', body })).status
}

/** Sends two events for a stored conversation, a change and a new message, and expects both in SQL. */
async function expectSeen({ query }: App, url: string): Promise<void> {
  const held = () =>
    query<{ agentId: string; convoId: string }>(
      'SELECT agent_id AS "agentId", conversation_id AS "convoId" FROM conversations WHERE _complete ORDER BY ALL LIMIT 1',
    )
  await until(async () => (await held()).length > 0, { everyMs: CHECK_EVERY_MS })
  const [conversation] = await held()
  const common = { ...conversation, createdAt: Date.now() }
  const lightConvoData = { state: 'from-event' }
  expect(
    await post(url, {
      event: 'conversation_updated',
      ...common,
      lightConvoData,
      turns: [{ role: 'user', text: 'hi' }],
    }),
  ).toBe(200)
  expect(await post(url, { event: 'message_received', ...common, messageContent: 'hi', channel: 'webchat' })).toBe(200)
  const seen = `SELECT c.state, t.text, m.message_content AS content FROM conversations c
    JOIN conversation_turns t USING (agent_id, conversation_id) JOIN messages_received m USING (agent_id, conversation_id)`
  await until(async () => (await query(seen)).length > 0, { everyMs: CHECK_EVERY_MS })
  expect(await query(seen)).toEqual([{ state: 'from-event', text: 'hi', content: 'hi' }])
}

async function expectStatus(there: App, events: number): Promise<void> {
  const { stdout } = await there.run('status')
  expect(stdout).toContain(
    `${events} events received, 0 waiting, ${events} applied; 1 conversation changed since exported`,
  )
  expect(stdout).toMatch(/event +message_received: 1, last /)
}

describe('events with the embedded host', () => {
  it('are applied by the next sync, even if their segment is not sealed yet', async () => {
    const there = await app()
    const spool = openSpool({ home: there.home, now: Date.now, sealAfterMs: 3_000 })
    onTestFinished(() => spool.close())
    await spool.append(spoolEvent({ createdAt: Date.now(), text: 'hello' }, 'ws_demo'))
    const { code, stdout } = await there.run('sync', '--yes')
    expect(code).toBe(0)
    expect(stdout).toContain('webhooks: 1 event received, 0 waiting, 1 applied')
    expect(await there.query('SELECT type FROM webhook_events')).toEqual([{ type: 'unknown' }])
  })
})

describeWithTemporal('events under Temporal', ({ place, env }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  it('are drained by a separate workflow whose history contains no event data', async () => {
    const there = await app(env)
    const worker = await startWorkerAt(there.path, place, 'all', { HOOK_SECRET: SECRET })
    const url = await receiverOf(there.begin('receive'))
    expect((await there.run('sync', '--on', 'temporal')).code).toBe(0)
    await expectSeen(there, url)
    const handle = client.workflow.getHandle(ingestId('ws_demo'))
    await worker.stop()
    await expectStatus(there, 2)
    // The workflow's history contains the number of drained events and nothing else about them.
    const history = payloadTexts(await handle.fetchHistory()).join('\n')
    expect(history).toContain('"events":2')
    for (const text of [SECRET, TOKEN, 'from-event', 'message_received']) expect(history).not.toContain(text)
  })
})
