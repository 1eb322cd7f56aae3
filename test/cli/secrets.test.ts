import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { AUDIT_LOG } from '../../src/catalog/resources/audit-log.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { CANARY, canary } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { valuesIn } from '../publish/published.ts'
import { TOKEN_ENV, writeConfig } from '../scene.ts'
import { cli, scene, start, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess, rowsOf } from './in-process.ts'
import { syncedOnce } from './synced-once.ts'

/** Returns every file below a folder with its bytes, decompressed if compressed. */
async function contents(folder: string): Promise<{ path: string; bytes: Buffer }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return Promise.all(
    files.map(async path => {
      const bytes = await readFile(path)
      return { path, bytes: path.endsWith('.gz') ? gunzipSync(bytes) : bytes }
    }),
  )
}

const WEBHOOK_SECRET = 'whsec-0815-4711'

const canariesIn = (text: string): string[] => text.match(/canary-secret-[\w-]+/g) ?? []

/** Returns answers of the sandbox and an event that together contain secrets of every kind. */
async function secretsSent({ url, world }: Sandbox) {
  const headers = { authorization: `Bearer ${TOKEN}` }
  const answerTo = async (path: string) => (await fetch(`${url}/v3/${path}`, { headers })).text()
  const bodies = [await answerTo('agents/search?limit=100&sortBy=firstCreated'), await answerTo('orgs/org_alpha')]
  for (const id of world.agentIds()) {
    for (const path of ['tools', 'variables']) bodies.push(await answerTo(`agents/${id}/${path}`))
    bodies.push(JSON.stringify(AUDIT_LOG.prepare(JSON.parse(await answerTo(`agents/${id}/audit-log?limit=200`)))))
  }
  const secret = (place: string) => canary(`event-${place}`, 0)
  const event = {
    event: 'agent_updated',
    createdAt: Date.now(),
    agentId: 'agent_x',
    changes: {
      apiKey: secret('name'),
      externalVoiceSettings: { elevenKey: secret('external') },
      credentials: { login: secret('credentials') },
      retellConfig: { key: secret('retell') },
      mail: { pass: secret('pass'), pwd: secret('pwd'), accessKey: secret('access'), Cookie: secret('cookie') },
      slack: `https://hooks.slack.com/services/T0/B0/${secret('slack')}`,
      serverUrl: `https://me:${secret('userinfo')}@example.com/?token=${secret('parameter')}&a=1`,
      headers: [{ key: 'X-Auth', value: secret('header') }],
      mcpServers: { messages: { env: { OPENAI_KEY: secret('env') } } },
      prompt: `use Bearer ${secret('bearer')} and sk-${secret('value')}`,
      settings: `{"password":"${secret('text')}"}`,
      variables: [{ key: 'host', isEnv: true, value: secret('variable') }],
      pem: `-----BEGIN PRIVATE KEY-----\n${secret('pem')}\n-----END PRIVATE KEY-----`,
    },
    operation: 'updated',
  }
  return { event, texts: [...bodies, JSON.stringify(event)] }
}

/** Posts an event to a receiver, then stops the receiver. */
async function post(env: Record<string, string>, event: object): Promise<void> {
  const running = start(['receive', '--port', '0', '--json'], { env })
  const line = await new Promise<string>(resolve => running.process.stdout!.once('data', text => resolve(String(text))))
  const body = JSON.stringify({ ...event, workspaceSecret: WEBHOOK_SECRET })
  const { status } = await fetch(`${JSON.parse(line).url}/webhooks`, { method: 'POST', body })
  expect(status).toBe(200)
  running.process.kill('SIGTERM')
  await running.ended
}

/** Returns canaries in any value of any column of any table, read as text: the warehouse file compresses texts. */
async function canariesInTables(home: string): Promise<string[]> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  try {
    const tables = await warehouse.writer.rows<{ name: string }>(
      "SELECT table_schema || '.' || table_name AS name FROM information_schema.tables WHERE table_type = 'BASE TABLE'",
    )
    expect(tables.length).toBeGreaterThan(30)
    const rows = await Promise.all(
      tables.map(({ name }) => warehouse.writer.rows(`SELECT COLUMNS(*)::VARCHAR FROM ${name}`)),
    )
    return [
      ...new Set(rows.flat().flatMap(row => Object.values(row).flatMap(value => canariesIn(String(value))))),
    ].sort()
  } finally {
    await warehouse.close()
  }
}

/** Returns canaries that a snapshot publishes, personal data included. */
async function canariesPublished(home: string, url: string): Promise<string[]> {
  const folder = await temporaryFolder()
  const path = join(folder, 'bi.duckdb')
  const pii = { identity: 'keep', staff: 'keep', device: 'keep', content: 'keep' }
  const file = await writeConfig(folder, { url, home, top: { targets: [{ name: 'bi', type: 'snapshot', path, pii }] } })
  const { code, stderr } = await cli(['publish', '--config', file], { env: TOKEN_ENV })
  expect([code, stderr]).toEqual([0, expect.not.stringContaining(CANARY)])
  const files = await contents(folder)
  return [...files.flatMap(({ bytes }) => canariesIn(bytes.toString('latin1'))), ...(await valuesIn(path, CANARY))]
}

describe('a secret', () => {
  const synced = syncedOnce({ agents: 1, conversations: 12 }, { resources: 'all' })

  it('of the workspace, a resource or an event is in no output and in no stored or published value, and is counted by path', async () => {
    const { env, home, sandbox } = await synced()
    const sent = await secretsSent(sandbox)
    const places = sent.texts.flatMap(canariesIn).map(canary => canary.replace(/-\d+$/, ''))
    expect(new Set(places).size).toBeGreaterThan(75)
    const { CONVOHOUSE_CONFIG: _, ...variables } = env
    const receiving = { ...variables, CONVOHOUSE_WEBHOOK_SECRET: WEBHOOK_SECRET }
    await post(receiving, sent.event)
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await inProcess(args, { env })
      expect([args, code]).toEqual([args, 0])
      for (const secret of [TOKEN, CANARY]) expect(stdout + stderr).not.toContain(secret)
      return stdout
    }
    await run('plan')
    await run('sync', '--json')
    for (const { path, bytes } of await contents(home)) {
      expect([path, bytes.includes(TOKEN)]).toEqual([path, false])
      expect([path, canariesIn(bytes.toString('latin1'))]).toEqual([path, []])
    }
    const counts = await rowsOf(
      "SELECT record, count(DISTINCT path)::INTEGER AS paths FROM _issues WHERE issue = 'secret removed' GROUP BY ALL ORDER BY ALL",
      env,
    )
    // test/client/redaction.test.ts lists the paths.
    expect(counts).toEqual([
      { record: 'agent', paths: 34 },
      { record: 'audit entry', paths: 12 },
      { record: 'organization', paths: 5 },
      { record: 'tool', paths: 3 },
      { record: 'variable', paths: 2 },
      { record: 'webhook_event', paths: 16 },
    ])
    const before = await rowsOf('SELECT record, path, occurrences FROM _issues ORDER BY ALL', env)
    await run('replay')
    expect(await rowsOf('SELECT record, path, occurrences FROM _issues ORDER BY ALL', env)).toEqual(before)
    expect(await canariesInTables(home)).toEqual([])
    expect(await canariesPublished(home, sandbox.url)).toEqual([])
    await run('query', 'FROM agents, organizations, variables', '--format', 'json')
    await run('doctor')
    const status = await run('status')
    expect(status).toMatch(/\d+ secrets removed before landing/)
    expect(status).not.toContain('secret removed')
    expect(before.flatMap(row => canariesIn(JSON.stringify(row)))).toEqual([])
    // Proves that the search finds an existing secret.
    const { writer, close } = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
    await writer.run("UPDATE agents SET title = 'canary-secret-planted'").finally(close)
    expect(await canariesInTables(home)).toEqual(['canary-secret-planted'])
  })

  it('that the vendor rejects makes a sync exit with 3, and is never printed', async () => {
    const { env, home } = await scene()
    const wrong = 'canary-wrong-0815'
    for (const more of [['--json'], ['--verbose']]) {
      const { code, stdout, stderr } = await inProcess(['sync', ...more], {
        env: { ...env, CONVOHOUSE_API_TOKEN: wrong },
      })
      expect(code).toBe(3)
      expect(stderr).toContain('API_UNAUTHORIZED')
      expect(stdout + stderr).not.toContain(wrong)
    }
    expect((await contents(home)).filter(({ bytes }) => bytes.includes(wrong))).toEqual([])
  })
})
