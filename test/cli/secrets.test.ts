import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe, expect, it } from 'vitest'
import { AUDIT_LOG } from '../../src/catalog/resources/audit-log.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { CANARY, canary } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { valuesIn } from '../publish/published.ts'
import { TOKEN_ENV, writeConfig } from '../scene.ts'
import { receiveEvents } from '../spool/arbitrary-events.ts'
import { cli, scene, start, TOKEN, temporaryFolder } from './cli-process.ts'
import { inProcess, rowsOf } from './in-process.ts'
import { syncedOnce } from './synced-once.ts'

/** Every file below a folder with its bytes; compressed ones unpacked. */
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

/** Without the number of the agent: the name that a canary was sent under. */
const placeOf = (canary: string): string => canary.replace(/-\d+$/, '')

const canariesIn = (text: string): string[] => text.match(/canary-secret-[\w-]+/g) ?? []

/** An answer of the sandbox, and the landed pages of the sync that it belongs to. */
interface Sent {
  stream: 'agents' | 'organizations' | 'tools' | 'variables' | 'audit_log'
  window: RegExp
  body: string
}

/** Answers of the sandbox and an event, which together contain secrets of every kind. */
async function secretsSent({ url, world }: Sandbox) {
  const headers = { authorization: `Bearer ${TOKEN}` }
  const answerTo = async (path: string) => (await fetch(`${url}/v3/${path}`, { headers })).text()
  const bodies: Sent[] = [
    { stream: 'agents', window: /agents/, body: await answerTo('agents/search?limit=100&sortBy=firstCreated') },
    { stream: 'organizations', window: /org_alpha/, body: await answerTo('orgs/org_alpha') },
  ]
  for (const id of world.agentIds()) {
    const window = new RegExp(id)
    for (const stream of ['tools', 'variables'] as const)
      bodies.push({ stream, window, body: await answerTo(`agents/${id}/${stream}`) })
    const log = JSON.parse(await answerTo(`agents/${id}/audit-log?limit=200`))
    bodies.push({ stream: 'audit_log', window, body: JSON.stringify(AUDIT_LOG.prepare(log)) })
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
  return { bodies, event, texts: [...bodies.map(({ body }) => body), JSON.stringify(event)] }
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

/** Canaries in any value of any column of any table, read as text. */
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

/**
 * Canaries in the data folder: in the bytes of every file, unpacked if compressed, and in the tables of the warehouse, because
 * the warehouse file compresses texts.
 */
async function canariesOf(home: string): Promise<string[]> {
  const files = (await contents(home)).flatMap(({ bytes }) => canariesIn(bytes.toString('latin1')))
  return [...new Set([...files, ...(await canariesInTables(home))])].sort()
}

/** Canaries in what a snapshot and a folder of Parquet files publish, personal data included. */
async function canariesPublished(home: string, url: string): Promise<string[]> {
  const folder = await temporaryFolder()
  const [path, lake] = [join(folder, 'bi.duckdb'), join(folder, 'lake')]
  const pii = { identity: 'keep', staff: 'keep', device: 'keep', content: 'keep' }
  const targets = [
    { name: 'bi', type: 'snapshot', path, pii },
    { name: 'lake', type: 'parquet', path: lake, pii },
  ]
  const file = await writeConfig(folder, { url, home, top: { targets } })
  const { code, stderr } = await cli(['publish', '--config', file], { env: TOKEN_ENV })
  expect([code, stderr]).toEqual([0, expect.not.stringContaining(CANARY)])
  const files = await contents(folder)
  const parquet = files.filter(({ path }) => path.endsWith('.parquet'))
  expect(parquet.some(({ path }) => path.includes('audit_log'))).toBe(true)
  const inBytes = files.flatMap(({ bytes }) => canariesIn(bytes.toString('latin1')))
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  try {
    const inFiles: string[] = []
    for (const { path } of parquet) {
      const rows = await connection.runAndReadAll(`SELECT COLUMNS(*)::VARCHAR FROM read_parquet('${path}')`)
      inFiles.push(...canariesIn(JSON.stringify(rows.getRowsJson())))
    }
    return [...inBytes, ...inFiles, ...(await valuesIn(path, CANARY))]
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

describe('a secret', () => {
  const synced = syncedOnce({ agents: 3, conversations: 60 }, { resources: 'all' })

  it('of the workspace or its resources is in no file of the data folder and in no output', async () => {
    const { env, home, sandbox } = await scene({ conversations: 20 }, { resources: 'all' })
    const headers = { authorization: `Bearer ${TOKEN}` }
    // Proves that the sandbox really sends secrets.
    const agent = `agents/${sandbox.world.agentIds()[0]}`
    for (const path of [
      'agents/search',
      'orgs/org_alpha',
      `${agent}/tools`,
      `${agent}/variables`,
      `${agent}/audit-log`,
    ])
      expect(await (await fetch(`${sandbox.url}/v3/${path}`, { headers })).text()).toContain(CANARY)
    const outputs = []
    for (const [run, ...args] of [
      [inProcess, 'plan'],
      [cli, 'sync', '--json'],
      [inProcess, 'status'],
      [inProcess, 'doctor'],
      [inProcess, 'replay'],
      [inProcess, 'query', 'FROM agents', '--format', 'json'],
      [inProcess, 'query', 'FROM organizations', '--format', 'json'],
      [inProcess, 'query', 'FROM variables', '--format', 'json'],
      [inProcess, 'query', 'FROM audit_log', '--format', 'json'],
    ] as const)
      outputs.push(await run(args, { env }))
    for (const { code, stdout, stderr } of outputs) {
      expect(code).toBe(0)
      expect(stdout + stderr).not.toContain(TOKEN)
      expect(stdout + stderr).not.toContain(CANARY)
    }
    const files = await contents(home)
    expect(files.some(({ path }) => path.endsWith('warehouse.duckdb'))).toBe(true)
    for (const stream of ['agents', 'organizations', 'teams', 'tools', 'variables', 'audit_log'])
      expect(files.some(({ path }) => path.includes(`/${stream}/`))).toBe(true)
    expect(
      files.filter(({ bytes }) => bytes.includes(TOKEN) || bytes.includes(CANARY)).map(({ path }) => path),
    ).toEqual([])
  })

  it('of a resource or an event is in no stored or published value, and is counted by path', async () => {
    const { env, home, sandbox } = await synced()
    const sent = await secretsSent(sandbox)
    expect(new Set(sent.texts.flatMap(canariesIn).map(placeOf)).size).toBeGreaterThan(75)
    const { CONVOHOUSE_CONFIG: _, ...variables } = env
    const receiving = { ...variables, CONVOHOUSE_WEBHOOK_SECRET: WEBHOOK_SECRET }
    await post(receiving, sent.event)
    expect((await inProcess(['sync'], { env })).code).toBe(0)
    expect(await canariesOf(home)).toEqual([])
    const paths = (record: string) =>
      rowsOf(`SELECT path FROM _issues WHERE issue = 'secret removed' AND record = '${record}' ORDER BY 1`, env)
    const records = ['agent', 'organization', 'webhook_event', 'tool', 'variable', 'audit entry']
    const removed = await Promise.all(records.map(paths))
    expect(removed.map(rows => rows.map(({ path }) => path))).toEqual([
      [
        'SECRET_API_KEY',
        'advanced.serverUrlSecret',
        'emailConfig.smtp.password',
        'fallbackSettings.notify.headers.X-Api-Key',
        'instagramOptions.accessToken',
        'integrations.billing',
        'integrations.calendar',
        'integrations.crm.accessToken',
        'integrations.mail.pass',
        'integrations.mail.pwd',
        'integrations.slack.url',
        'integrations.storage.credentials',
        'nodes[].llmConfig.apiKey',
        'nodes[].mcpServers[].args[]',
        'nodes[].mcpServers[].env.OPENAI_KEY',
        'nodes[].mcpServers[].headers.Authorization',
        'nodes[].mcpServers[].headers.Cookie',
        'nodes[].mcpServers[].headers.X-Auth',
        'nodes[].preStart.token',
        'nodes[].routerLlmConfig.apiKey',
        'nodes[].toolsSettings.*.headers.Authorization',
        'retellConfig.apiKey',
        'retellConfig.key',
        'retellConfig.signingKey',
        'tools[].fields[].defaultValue',
        'tools[].fields[].value',
        'tools[].serverUrlSecret',
        'vapiConfig.privateKey',
        'vapiConfig.private_key',
        'vgOptions.provider.apiKey',
        'vg_UIEngineConfig.maps.apiKey',
        'voiceConfig.speechGen.apiKey',
        'voiceConfig.transcriber.apiKey',
        'whatsappToken',
      ],
      ['FB_PUSH_TOKEN', 'dashboardPassword', 'magicCode', 'usedSecret', 'widgets[].apiKey'],
      [
        'changes.apiKey',
        'changes.credentials',
        'changes.externalVoiceSettings.elevenKey',
        'changes.headers[].value',
        'changes.mail.Cookie',
        'changes.mail.accessKey',
        'changes.mail.pass',
        'changes.mail.pwd',
        'changes.mcpServers.messages.env.OPENAI_KEY',
        'changes.pem',
        'changes.prompt',
        'changes.retellConfig.key',
        'changes.serverUrl',
        'changes.settings.password',
        'changes.slack',
        'changes.variables[].value',
      ],
      ['fields[].defaultValue', 'fields[].value', 'serverUrlSecret'],
      ['defaultValue', 'value'],
      ['newValue', 'oldValue'].flatMap(value => [
        value,
        `${value}[].args[]`,
        `${value}[].env.OPENAI_KEY`,
        `${value}[].headers.Authorization`,
        `${value}[].headers.Cookie`,
        `${value}[].headers.X-Auth`,
      ]),
    ])
    const before = await rowsOf('SELECT record, path, occurrences FROM _issues ORDER BY ALL', env)
    expect((await inProcess(['replay'], { env })).code).toBe(0)
    expect(await rowsOf('SELECT record, path, occurrences FROM _issues ORDER BY ALL', env)).toEqual(before)
    expect(await canariesOf(home)).toEqual([])
    expect(await canariesPublished(home, sandbox.url)).toEqual([])
    const { stdout } = await inProcess(['status'], { env })
    expect(stdout).toMatch(/\d+ secrets removed before landing/)
    expect(stdout).not.toContain('secret removed')
    expect(before.flatMap(row => canariesIn(JSON.stringify(row)))).toEqual([])
  })

  it('is found by the same searches, every one, if nothing was redacted', async () => {
    const { env, home, sandbox } = await synced()
    const sent = await secretsSent(sandbox)
    // Lands the pages of the sync once more, with the bodies that the sandbox sent, not redacted.
    const bare = { ...env, CONVOHOUSE_HOME: join(await temporaryFolder(), 'data') }
    const [from, to] = [openLanding(home).workspace('ws_demo'), openLanding(bare.CONVOHOUSE_HOME).workspace('ws_demo')]
    for (const { stream, window: name, body } of sent.bodies) {
      const pages = (await from.list(stream)).filter(({ window }) => name.test(window))
      expect(pages.length).toBeGreaterThan(0)
      const bytes = Buffer.from(body)
      for (const { address: path } of pages)
        await to.land({ ...(await from.head(path)), bodyBytes: bytes.length }, bytes)
    }
    const received = { home: bare.CONVOHOUSE_HOME, workspaceId: 'ws_demo', nowMs: Date.now() }
    await receiveEvents(received, [sent.event as Record<string, unknown>])
    expect((await inProcess(['replay'], { env: bare })).code).toBe(0)
    const canaries = [...new Set(sent.texts.flatMap(canariesIn))].sort()
    // In the warehouse's bytes one text may follow another directly, and both are then found as one, too.
    expect(await canariesOf(bare.CONVOHOUSE_HOME)).toEqual(expect.arrayContaining(canaries))
    // Payloads of events are in the spool only.
    const loaded = canaries.filter(canary => !canary.startsWith('canary-secret-event-'))
    expect(await canariesInTables(bare.CONVOHOUSE_HOME)).toEqual(loaded)
    const published = await canariesPublished(bare.CONVOHOUSE_HOME, sandbox.url)
    expect(published.length).toBeGreaterThan(0)
  })

  it('that the vendor rejects makes a sync exit with 3, and is never printed', async () => {
    const { env, home } = await scene({}, { resources: 'all' })
    const wrong = 'canary-wrong-0815'
    for (const more of [[], ['--json'], ['--verbose']]) {
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
