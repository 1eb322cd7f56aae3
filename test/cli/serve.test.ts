// `convohouse serve` and `convohouse token` as users run them: the real command, its own snapshot, and an HTTP client.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import { SECOND } from '../../src/core/time.ts'
import { YIELD_PATH } from '../../src/serve/own-snapshot.ts'
import { withoutTemporal } from '../faults/without-temporal.ts'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { cli, MAIN, type Scene, start } from './cli-process.ts'
import { syncedOnce } from './synced-once.ts'

const synced = syncedOnce({ conversations: 40 })

/** Gives the scene a configuration of its own with these settings. */
async function configured({ env, home }: Scene, serve: object): Promise<Record<string, string>> {
  const config = JSON.parse(await readFile(env.CONVOHOUSE_CONFIG!, 'utf8'))
  const file = `${home}.yaml`
  await writeFile(file, JSON.stringify({ ...config, home, serve: { address: '127.0.0.1:0', ...serve } }))
  return { ...env, CONVOHOUSE_CONFIG: file, CONVOHOUSE_CHECKS: `${home}.checks` }
}

async function serving(env: Record<string, string>, ...flags: string[]) {
  const running = start(['serve', '--json', ...flags], { env })
  const { url } = JSON.parse(await running.firstLine()) as { url: string }
  const query = (sql: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/v1/query`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ sql }),
    })
  return { running, url, query }
}

const COUNT = 'SELECT count(*) AS n FROM conversations'

describe('serve', () => {
  it('publishes its own snapshot, answers, notices tokens and revocations at once, and ends', async () => {
    const scene = await synced()
    const env = await configured(scene, { pii: { identity: 'keep', content: 'keep' } })
    await mkdir(env.CONVOHOUSE_CHECKS!)
    const check =
      '-- No conversation is allowed.\n-- severity: error\n-- table: conversations\nSELECT workspace_id, agent_id, conversation_id FROM conversations'
    await writeFile(join(env.CONVOHOUSE_CHECKS!, 'none_allowed.sql'), check)
    const quoting = `${check.split('SELECT')[0]}SELECT workspace_id, agent_id, conversation_id FROM conversations WHERE ('canary-4711' || conversation_id)::INTEGER = 1`
    await writeFile(join(env.CONVOHOUSE_CHECKS!, 'quoting.sql'), quoting)
    const { running, url, query } = await serving(env)
    const first = await until(async () => {
      const response = await query(COUNT)
      if (response.status === 200) return response.json() as Promise<{ rows: [{ n: number }] }>
      expect(((await response.json()) as { error: { code: string } }).error.code).toBe('SNAPSHOT_MISSING')
      return null
    })
    expect(first.rows[0].n).toBeGreaterThan(0)
    const maps = () => readFileSync(`/proc/${running.process.pid}/maps`, 'utf8')
    if (process.platform === 'linux') expect(maps()).not.toContain('duckdb')
    const { stdout } = await cli(['token', 'create', 'notebook', '--scope', 'sql,health'], { env })
    const headers = { Authorization: `Bearer ${stdout.trim()}` }
    expect([(await query(COUNT)).status, (await query(COUNT, headers)).status]).toEqual([401, 200])
    const [{ id }] = JSON.parse(
      String(
        (await cli(['query', '--format', 'json', 'SELECT min(conversation_id) AS id FROM conversations'], { env }))
          .stdout,
      ),
    )
    await cli(['check'], { env })
    const health = await (await fetch(`${url}/v1/health`, { headers })).text()
    expect(JSON.parse(health).pipeline).toMatchObject({
      workspaces: [{}],
      checks: [
        { name: 'none_allowed', outcome: 'failed' },
        { name: 'quoting', outcome: 'broken' },
      ],
    })
    for (const hidden of [id, 'canary-4711', scene.home, '"error":', '"what":', '"hint":', '"examples":'])
      expect(health).not.toContain(hidden)
    const list = JSON.parse((await cli(['token', 'list', '--json'], { env })).stdout)
    expect(list.tokens).toMatchObject([
      { name: 'notebook', scopes: ['sql', 'health'], isValid: true, lastUsedAt: expect.any(String) },
    ])
    expect((await cli(['token', 'revoke', 'notebook'], { env })).code).toBe(0)
    expect((await query(COUNT, headers)).status).toBe(401)
    const { code, stdout: said, stderr } = await running.kill('SIGTERM')
    expect([code, `${said}${stderr}`]).toEqual([0, expect.not.stringContaining(stdout.trim().slice(-43))])

    // A data folder is enough.
    const bare = await serving({ CONVOHOUSE_HOME: scene.home }, '--address', '127.0.0.1:0')
    expect(await (await bare.query(COUNT)).json()).toMatchObject({ rows: first.rows })
    await bare.running.kill('SIGTERM')

    // An assistant on this machine reads the same snapshot, and sees the tools of its scopes.
    const assistant = new Client({ name: 'test', version: '1' })
    const args = [MAIN, 'mcp', '--scope', 'metrics,content']
    // It needs no workspace.
    const only = { CONVOHOUSE_HOME: scene.home }
    await assistant.connect(new StdioClientTransport({ command: process.execPath, args, env: only }))
    const { tools } = await assistant.listTools()
    const given = { metrics: ['conversations'], period: { from: '0001-01-01', to: '9999-12-31' } }
    const { content } = await assistant.callTool({ name: 'query_metrics', arguments: given })
    await assistant.close()
    expect(tools.map(({ name }) => name)).toEqual(['list_metrics', 'query_metrics', 'describe_table', 'conversation'])
    const { metrics } = JSON.parse((content as { text: string }[])[0]!.text)
    expect(metrics[0].series[0].total.value).toBeGreaterThan(0)
  })

  it('publishes in a process that gives way to a command that asks for the warehouse', async () => {
    const scene = await synced()
    const config = readConfig({ path: scene.env.CONVOHOUSE_CONFIG!, env: scene.env })
    const app = await openApp({ config })
    app.questions.set(YIELD_PATH, async () => {
      setTimeout(() => app.close(), 3_000)
      return true
    })
    const { code, stderr } = await cli(['quarantine', 'retry'], { env: scene.env })
    expect([code, stderr]).toEqual([0, ''])
  })

  it('is a part of `up` if it is configured, and is started again after a crash', async () => {
    const scene = await synced()
    const port = await freePort()
    const env = { ...(await configured(scene, { address: `127.0.0.1:${port}` })), ...(await withoutTemporal()) }
    const running = start(['up', '--every', '1h'], { env })
    const isServing = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ ok }) => ok,
        () => false,
      )
    await until(isServing)
    await running.said('Serving')
    const ofServe = ['-P', String(running.process.pid), '-f', 'serve --supervised']
    const pid = async () => Number((await promisify(execFile)('pgrep', ofServe)).stdout)
    const first = await pid()
    // Ctrl-C reaches the whole group; when this process ends is up to `up`.
    process.kill(first, 'SIGINT')
    await sleep(SECOND)
    expect([await pid(), await isServing()]).toEqual([first, true])
    process.kill(first, 'SIGKILL')
    await running.said('The process that serves figures was ended by SIGKILL')
    await until(isServing)
    const { code } = await running.kill('SIGINT')
    expect([code, await isServing()]).toEqual([0, false])
  })

  it('says which address is taken, and which snapshot is unknown', async () => {
    const scene = await synced()
    const env = await configured(scene, {})
    const { running, url } = await serving(env)
    const taken = await cli(['serve', '--address', new URL(url).host], { env })
    expect([taken.code, taken.stderr]).toEqual([2, expect.stringContaining('ADDRESS_IN_USE')])
    const wrong = await cli(['serve'], { env: await configured(scene, { snapshot: 'nobody' }) })
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('serve.snapshot')])
    await running.kill('SIGTERM')
  })
})
