import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { openIntake } from '../../src/receiver/intake.ts'
import { folderOfFile } from '../of-file.ts'
import { landConversations } from '../warehouse/landed-pages.ts'
import { type Ended, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

const NO_ID = '{ "id": "no id",  "n": 12345678901234567890 }'
const DEEP = `{"ID":"deep","x":${'['.repeat(600)}${']'.repeat(600)}}`

const envOf = (home: string) => ({
  CONVOHOUSE_API_URL: 'http://127.0.0.1:9',
  CONVOHOUSE_API_TOKEN: TOKEN,
  CONVOHOUSE_WORKSPACE: 'ws_demo',
  CONVOHOUSE_HOME: home,
})

/** A data folder in which one record of a page is loaded and two are quarantined. It is made once; each test gets a copy. */
const made = await folderOfFile()
let file: string

beforeAll(async () => {
  const body = `{"success":true,"data":[{"ID":"good"},${NO_ID},${DEEP}]}`
  file = (await landConversations(openLanding(made).workspace('ws_demo'), { body })).address
  expect(await inProcess(['replay'], { env: envOf(made) })).toMatchObject({ code: 0 })
})

async function app(): Promise<{ env: Record<string, string>; file: string }> {
  const home = join(await temporaryFolder(), 'data')
  await cp(made, home, { recursive: true })
  return { env: envOf(home), file }
}

const json = async (ended: Promise<Ended>) => JSON.parse((await ended).stdout)

describe('quarantine', () => {
  it('lists the records that could not be loaded, with reasons, and shows each byte for byte, by its id or its position', async () => {
    const { env, file } = await app()
    const { quarantined } = await json(inProcess(['quarantine', 'list', '--json'], { env }))
    expect(quarantined).toMatchObject([
      { workspaceId: 'ws_demo', record: 'conversation', file, element: 2, reason: 'object without a usable ID' },
      { workspaceId: 'ws_demo', record: 'conversation', file, element: 3, reason: 'nested deeper than 500 levels' },
    ])
    const people = await inProcess(['quarantine'], { env })
    for (const text of [quarantined[0].id, 'ws_demo', 'nested deeper than 500 levels', file, '2 records'])
      expect(people.stdout).toContain(text)
    expect((await inProcess(['quarantine', 'list', '-w', 'other'], { env })).stdout).toContain(
      'No record is quarantined',
    )
    for (const name of [quarantined[0].id, `${file}#2`]) {
      const shown = await inProcess(['quarantine', 'show', name], { env })
      expect(shown).toMatchObject({ code: 0, stdout: `${NO_ID}\n` })
      expect(shown.stderr).toContain('object without a usable ID')
    }
    const unknown = await inProcess(['quarantine', 'show', 'nothing'], { env })
    expect(unknown).toMatchObject({ code: 2, stdout: '' })
    expect(unknown.stderr).toContain('error RECORD_UNKNOWN')
  })

  it('lists an event that was received with its secret, but is no JSON, and keeps its text without the secret', async () => {
    const { env } = await app()
    const secrets = ['whsec-canary-5512']
    const intake = openIntake({ home: env.CONVOHOUSE_HOME!, workspaces: [{ id: 'ws_demo', secrets }] })
    const body = `{"event":"webhook_test","createdAt":NaN,"workspaceSecret":"${secrets[0]}"}`
    for (const _ of [1, 2]) expect(await intake.take(Buffer.from(body), null)).toBe('kept')
    await intake.close()
    expect(await inProcess(['replay'], { env })).toMatchObject({ code: 0 })
    const listed = async () => (await json(inProcess(['quarantine', '--json'], { env }))).quarantined.slice(2)
    const [event, ...others] = await listed()
    const reason = 'the event is not JSON, or nested too deeply'
    expect([event, others]).toMatchObject([{ record: 'webhook_event', reason }, []])
    const shown = await json(inProcess(['quarantine', 'show', event.id], { env }))
    expect(shown.text).toBe(body.replace(secrets[0]!, '***'))
    expect((await inProcess(['status'], { env })).stdout).toMatch(/event +unreadable: 1,/)
    expect((await inProcess(['quarantine', 'retry', event.id], { env })).stdout).toContain(`: ${reason}`)
    expect(await listed()).toEqual([event])
  })

  it('retries records: those that can be loaded now are, and the others stay', async () => {
    const { env, file } = await app()
    // Recreates the state after an older version that could not load the first record either.
    const opened = await openApp({ config: readConfig({ env }) })
    const { writer } = opened.warehouse
    await writer.run("DELETE FROM conversations WHERE conversation_id = 'good'")
    await writer.run(`INSERT INTO _quarantine VALUES ('ws_demo', 'conversation', '${file}', 1, 'once', '2026-01-01')`)
    await opened.close()
    const retried = await inProcess(['quarantine', 'retry'], { env })
    expect(retried.code).toBe(0)
    expect(retried.stdout).toContain('1 record loaded, 2 records still quarantined')
    expect(retried.stdout).toContain(`${file}#3: nested deeper than 500 levels`)
    const { quarantined } = await json(inProcess(['quarantine', 'list', '--json'], { env }))
    expect(quarantined).toHaveLength(2)
    expect((await inProcess(['query', 'SELECT conversation_id FROM conversations'], { env })).stdout).toContain('good')
    const one = await json(inProcess(['quarantine', 'retry', `${file}#2`, '--json'], { env }))
    expect(one).toMatchObject({ loaded: 0, stillQuarantined: [{ element: 2, staysFor: 'object without a usable ID' }] })
  })

  it('lists and shows records while another process holds the warehouse, but retries none', async () => {
    const { env, file } = await app()
    const opened = await openApp({ config: readConfig({ env }) })
    onTestFinished(() => opened.close())
    expect((await json(inProcess(['quarantine', 'list', '--json'], { env }))).quarantined).toHaveLength(2)
    expect((await inProcess(['quarantine', 'show', `${file}#3`], { env })).stdout).toBe(`${DEEP}\n`)
    const retried = await inProcess(['quarantine', 'retry'], { env })
    expect(retried.code).toBe(6)
    expect(retried.stderr).toContain('error WAREHOUSE_LOCKED')
  })
})

it('status counts data issues and quarantined records, and says how to list them', async () => {
  const { env } = await app()
  const { stdout } = await inProcess(['status'], { env })
  for (const text of [
    '2 records quarantined',
    '2 data issues on 2 paths',
    'FROM _issues',
    'convohouse quarantine list',
  ])
    expect(stdout).toContain(text)
  const [workspace] = (await json(inProcess(['status', '--json'], { env }))).workspaces
  expect(workspace.findings).toMatchObject({ quarantined: 2, issuePaths: 2, issues: 2 })
})
