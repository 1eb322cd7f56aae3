import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { DAY, firstAgent, open } from '../caller.ts'
import { ask, resources } from './writer.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'sandbox-data-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

async function writeAll(sandbox: Sandbox): Promise<void> {
  const agent = `/v3/agents/${firstAgent(sandbox)}`
  const [job] = (await resources(sandbox)).crawlerJobs
  const writes = [
    ['POST', `${agent}/tools`, { tool: { name: 'a', description: 'b' } }],
    ['POST', `${agent}/variables`, { variable: { key: 'a', value: { deep: [1] } } }],
    ['PUT', `${agent}/custom-metrics/met_quote`, { metric: { key: 'words' } }],
    ['PATCH', '/v3/workspaces/ws_demo', { updates: { workspaceName: 'Kept' } }],
    ['DELETE', `/v3/workspaces/ws_demo/crawler/jobs/${job!.id}`, undefined],
    ['DELETE', '/v3/orgs/org_beta', undefined],
  ] as const
  for (const [method, path, body] of writes) expect((await ask(sandbox, method, path, body)).status).toBe(200)
}

/** What the writes have changed, as it is served. */
async function seen(sandbox: Sandbox) {
  const agent = `/v3/agents/${firstAgent(sandbox)}`
  const read = async (method: string, path: string, body?: unknown) => (await ask(sandbox, method, path, body)).body
  return [
    await read('GET', `${agent}/tools`),
    await read('GET', `${agent}/variables`),
    await read('GET', `${agent}/custom-metrics/met_quote`),
    await read('GET', `${agent}/audit-log`),
    await read('PATCH', '/v3/workspaces/ws_demo', { updates: {} }),
    await read('GET', '/v3/orgs/org_beta'),
    await resources(sandbox),
  ]
}

describe('a folder of data', () => {
  it('keeps every kind of write over a restart, in a line each', async () => {
    const data = folder()
    const first = await open({ data })
    await writeAll(first)
    const before = await seen(first)
    await first.close()
    expect(readFileSync(join(data, 'changes.jsonl'), 'utf8').trimEnd().split('\n')).toHaveLength(7)
    expect(await seen(await open({ data }))).toEqual(before)
    expect(await seen(await open())).not.toEqual(before)
  })

  it('keeps whole lines only, and goes on after them', async () => {
    const data = folder()
    const file = join(data, 'changes.jsonl')
    const create = (sandbox: Sandbox, key: string) =>
      ask(sandbox, 'POST', `/v3/agents/${firstAgent(sandbox)}/variables`, { variable: { key } })
    await create(await open({ data }), 'a')
    appendFileSync(file, '{"type":"varia')
    await create(await open({ data }), 'b')
    const [, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(lines.map(line => (JSON.parse(line) as { variable: { key: string } }).variable.key)).toEqual(['a', 'b'])
  })

  it('keeps the world, which goes on at the time of the restart', async () => {
    const data = folder()
    const first = await open({ data })
    first.clock.advance(60 * DAY)
    const before = await seen(first)
    const later = await open({ data, startMs: first.clock.now() })
    expect(await seen(later)).toEqual(before)
    expect(later.clock.now()).toBe(first.clock.now())
  })

  it('of another seed or workspace is refused', async () => {
    const data = folder()
    await open({ data, seed: 1 })
    for (const other of [{ seed: 2 }, { workspaceId: 'ws_other' }])
      await expect(open({ data, ...other })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('with a damaged file is refused', async () => {
    const data = folder()
    writeFileSync(join(data, 'changes.jsonl'), 'x\n')
    await expect(open({ data })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})
