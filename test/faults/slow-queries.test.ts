// More slow queries run than the process has threads; loading, webhooks and other work continue meanwhile.
import { readdir } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { spoolFolders } from '../../src/spool/folders.ts'
import { queryHolder } from '../../src/warehouse/query/http/holder-client.ts'
import { start } from '../cli/cli-process.ts'
import { openScene, TOKEN_ENV } from '../scene.ts'
import { until } from '../until.ts'
import { SECRET } from './webhook-command.ts'
import { withoutTemporal } from './without-temporal.ts'

const SLOW = 'SELECT sleep_ms(60000)'

/** An `up` process without Temporal but with a receiver, during its first sync. */
async function upInOneProcess() {
  const scene = await openScene({
    sandbox: { conversations: 120, arrivalsPerDay: 0, latencyMs: 600 },
    top: { webhooks: { port: 0 } },
    // The sync has to end before the queries do.
    workspace: { pageSize: 10, resources: 'none', webhooks: { secrets: [{ env: 'SECRET' }] } },
  })
  onTestFinished(scene.close)
  const env = { ...TOKEN_ENV, SECRET, ...(await withoutTemporal()) }
  const up = start(['up', '--every', '1h', '--config', scene.file], { env })
  let stderr = ''
  up.process.stderr!.on('data', text => {
    stderr += text
  })
  const url = await until(async () => /at (http\S+webhooks)\./.exec(stderr)?.[1])
  return { up, home: scene.home, url, stderr: () => stderr }
}

it('twenty slow queries delay no webhook, no sync and no loading; queries that wait too long are refused', async () => {
  const { up, home, url, stderr } = await upInOneProcess()
  const ask = (sql: string, timeoutMs = 60_000) => queryHolder({ home, sql, timeoutMs })
  await until(() =>
    ask('SELECT 1').then(
      answer => answer.close().then(() => true),
      () => undefined,
    ),
  )

  let ended = 0
  for (let left = 20; left > 0; left--) {
    ask(SLOW)
      .then(
        answer => answer.close(),
        () => {},
      )
      .finally(() => {
        ended += 1
      })
  }
  // A query that times out while it waits proves that slow queries hold all slots.
  const refused = await until(() =>
    ask('SELECT 1', 400).then(
      answer => answer.close(),
      error => error,
    ),
  )
  expect(refused).toMatchObject({ code: 'TOO_MANY_QUERIES', message: /runs 4 queries at a time.*waited 0.4 s/ })
  expect(stderr()).not.toContain('next round')

  const event = { event: 'message_received', createdAt: Date.now(), workspaceSecret: SECRET, messageContent: 'hello' }
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(event) })
  expect(answer.status).toBe(200)
  const { drained } = spoolFolders(home, 'ws_demo')
  await until(async () => (await readdir(drained).catch(() => []))[0])
  await up.said('next round')
  // All slow queries were still running, so none of them had freed a thread for this work.
  expect(ended).toBe(0)
})
