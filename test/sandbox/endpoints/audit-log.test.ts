import { describe, expect, it } from 'vitest'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import type { AuditEntry } from '../../../src/sandbox/world/agents/audit-log.ts'
import { CANARY } from '../../../src/sandbox/world/agents/secret-bearing.ts'
import { DAY, firstAgent, open } from '../caller.ts'
import { ask } from './writer.ts'

type Page = { success: boolean; entries: AuditEntry[]; nextCursorTs?: number | null }

const page = async (sandbox: Sandbox, query = ''): Promise<Page> =>
  (await ask<Page>(sandbox, 'GET', `/v3/agents/${firstAgent(sandbox)}/audit-log?${query}`)).body

/** All pages by `nextCursorTs` as it is, until it is missing or does not move. */
async function pages(sandbox: Sandbox, limit: number): Promise<AuditEntry[][]> {
  const all: AuditEntry[][] = []
  let cursor: number | undefined
  for (;;) {
    const { entries, nextCursorTs } = await page(sandbox, `limit=${limit}${cursor ? `&cursorTs=${cursor}` : ''}`)
    all.push(entries)
    if (typeof nextCursorTs !== 'number' || nextCursorTs === cursor) return all
    cursor = nextCursorTs
  }
}

const entries = async (sandbox: Sandbox) => (await pages(sandbox, 200)).flat()
const openLog = (options: Partial<SandboxOptions> = {}) => open({ conversations: 3, ...options })
const texts = (list: readonly AuditEntry[]) => new Set(list.map(entry => JSON.stringify(entry)))

describe('the audit log', () => {
  it('has entries of all sources with every documented field, the newest first', async () => {
    const sandbox = await openLog()
    const log = await entries(sandbox)
    expect(new Set(log.map(({ source }) => source))).toEqual(
      new Set(['user_update', 'template_clone', 'agent_clone', 'system_migration']),
    )
    for (const entry of log) {
      expect(Object.keys(entry).sort().join(' ')).toBe('actor agentId field newValue oldValue source ts')
      expect(Number.isInteger(entry.ts) && entry.ts < sandbox.clock.now() / 1000).toBe(true)
    }
    const times = (await page(sandbox, 'limit=200')).entries.map(({ ts }) => ts)
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    expect(log.some(({ field }) => /^nodes\[\w+\]\.\w/.test(field))).toBe(true)
  })

  it('has secrets before and after their change, also within JSON', async () => {
    const log = await entries(await openLog())
    for (const field of [
      /serverUrlSecret$/,
      /^whatsappToken$/,
      /headers\.Authorization$/,
      /^variables\[/,
      /mcpServers$/,
    ]) {
      const changed = log.find(entry => field.test(entry.field) && entry.oldValue !== '')!
      expect([changed.oldValue, changed.newValue]).toEqual([
        expect.stringContaining(CANARY),
        expect.stringContaining(CANARY),
      ])
    }
  })

  it('ends, for each field, at the value that the agent has', async () => {
    const sandbox = await openLog()
    const { vg_temperature, description } = sandbox.world.agent(firstAgent(sandbox))!
    const log = await entries(sandbox)
    const latest = (name: string) => log.find(({ field }) => field === name)!.newValue
    expect([latest('vg_temperature'), latest('description')]).toEqual([String(vg_temperature), description])
  })

  it('has 50 entries a page unless the request says otherwise, up to 200', async () => {
    const sandbox = await openLog()
    expect((await page(sandbox)).entries).toHaveLength(50)
    expect((await page(sandbox, 'limit=200')).entries).toHaveLength(200)
    for (const query of ['limit=201', 'limit=0', 'limit=x', 'cursorTs=now'])
      expect(await page(sandbox, query)).toMatchObject({ code: 'BAD_REQUEST', issues: [{}] })
  })

  it('repeats the second of the cursor, so that pages lose nothing', async () => {
    const sandbox = await openLog()
    const whole = texts(await entries(sandbox))
    expect(whole.size).toBeGreaterThan(200)
    expect(texts((await pages(sandbox, 60)).flat())).toEqual(whole)
  })

  it('skips the rest of a second that a page has cut, by the reading', async () => {
    const sandbox = await openLog({ readings: { 'audit-cursor': 'exclusive', 'last-audit-cursor': 'present' } })
    const cut = (await pages(sandbox, 60)).flat()
    expect(texts(cut).size).toBeLessThan(texts(await entries(await openLog())).size)
  })

  it.each([
    ['null', null],
    ['absent', undefined],
  ] as const)('ends with a cursor that is %s', async (reading, expected) => {
    const sandbox = await openLog({ readings: { 'last-audit-cursor': reading } })
    const first = (await entries(sandbox)).at(-1)!.ts
    expect((await page(sandbox, `cursorTs=${first - 1}`)).nextCursorTs).toBe(expected)
  })

  it('has identical entries of one second', async () => {
    const sandbox = await openLog()
    const found = await page(sandbox, 'limit=200')
    expect(texts(found.entries).size).toBeLessThan(found.entries.length)
  })

  it('grows with every write, by an entry for each field', async () => {
    const sandbox = await openLog()
    const agentId = firstAgent(sandbox)
    await ask(sandbox, 'PUT', `/v3/agents/${agentId}/custom-metrics/met_quote`, { metric: { description: 'Words' } })
    const { body } = await ask<{ data: { id: string } }>(sandbox, 'POST', `/v3/agents/${agentId}/variables`, {
      variable: { key: 'PIN', value: 'canary-secret-pin', isEnv: true },
    })
    const [newest] = (await page(sandbox, 'limit=200')).entries.filter(({ field }) => field.endsWith('.value'))
    expect(newest).toEqual({
      agentId,
      field: `variables[${body.data.id}].value`,
      oldValue: '',
      newValue: 'canary-secret-pin',
      source: 'user_update',
      actor: 'ws_demo',
      ts: Math.floor(sandbox.clock.now() / 1000),
    })
    const metric = (await page(sandbox, 'limit=200')).entries.find(({ field }) => field.startsWith('customMetrics'))
    expect(metric).toMatchObject({ field: 'customMetrics[met_quote].description', newValue: 'Words' })
  })

  it('grows with the clock: by migrations, and with traffic by renamings', async () => {
    const sandbox = await openLog({ traffic: true })
    const before = (await page(sandbox)).entries[0]!.ts
    sandbox.clock.advance(30 * DAY)
    const since = (await page(sandbox)).entries.filter(({ ts }) => ts > before)
    expect(new Set(since.map(({ source }) => source))).toEqual(new Set(['system_migration', 'user_update']))
    const renamed = since.find(({ field }) => field === 'title')!
    expect(renamed.newValue).toBe(sandbox.world.agent(firstAgent(sandbox), sandbox.clock.now())!.title)
  })
})
