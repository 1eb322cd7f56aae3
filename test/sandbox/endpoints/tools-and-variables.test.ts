import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { CANARY } from '../../../src/sandbox/world/agents/secret-bearing.ts'
import { firstAgent, open, START_MS } from '../caller.ts'
import { openReceiver } from '../webhooks/receiver.ts'
import { ask } from './writer.ts'

type Listed = { data: ({ id: string; key: string } & Record<string, unknown>)[] }
type Created = { data: { id: string; fields: unknown } }

const TOOL = { name: 'Ship', description: 'Sends the order', fields: [{ key: 'order' }], channels: ['whatsapp'] }

const list = async (sandbox: Sandbox, resource: 'tools' | 'variables') =>
  (await ask<Listed>(sandbox, 'GET', `/v3/agents/${firstAgent(sandbox)}/${resource}`)).body.data

const create = <T = Record<string, unknown>>(sandbox: Sandbox, resource: 'tools' | 'variables', body: unknown) =>
  ask<T>(sandbox, 'POST', `/v3/agents/${firstAgent(sandbox)}/${resource}`, body)

describe('a created tool', () => {
  it('is answered with id, owner, times and defaults, and listed from then on', async () => {
    const sandbox = await open()
    const before = await list(sandbox, 'tools')
    const { status, body } = await create<Created>(sandbox, 'tools', { tool: TOOL })
    expect([status, body]).toMatchObject([
      200,
      {
        success: true,
        data: {
          ...TOOL,
          method: 'GET',
          disabled: false,
          variablesIds: [],
          agentId: firstAgent(sandbox),
          userId: 'ws_demo',
          createdAt: new Date(START_MS).toISOString(),
          fields: [{ id: 'fld_1', key: 'order', type: 'string', isEnv: false }],
        },
      },
    ])
    expect(Object.keys(body.data)).toEqual(Object.keys(before[0]!))
    expect(await list(sandbox, 'tools')).toEqual([...before, body.data])
    const twice = await create<Created>(sandbox, 'tools', { tool: TOOL })
    expect(twice.body.data.id).not.toBe(body.data.id)
  })

  it.each([
    ['no JSON', '{', 'the body is not JSON'],
    ['no wrapper', TOOL, 'tool: '],
    ['no name', { tool: { ...TOOL, name: undefined } }, 'tool: name: '],
    ['an empty description', { tool: { ...TOOL, description: '' } }, 'tool: description: '],
    ['a method that is a number', { tool: { ...TOOL, method: 1 } }, 'tool: method: '],
    ['a field without a key', { tool: { ...TOOL, fields: [{ in: 'query' }] } }, 'tool: fields: 0: key: '],
  ])('is refused with an issue for %s', async (_what, body, issue) => {
    const { status, body: refused } = await create(await open(), 'tools', body)
    expect([status, refused]).toEqual([
      400,
      { message: 'Invalid body', code: 'BAD_REQUEST', issues: [{ message: expect.stringContaining(issue) }] },
    ])
  })

  it('drops unknown fields, or is refused for them by the reading', async () => {
    const body = { tool: { ...TOOL, fields: [{ key: 'a', size: 2 }], colour: 1 }, more: 3 }
    expect((await create<Created>(await open(), 'tools', body)).body.data).not.toHaveProperty('colour')
    const strict = await create(await open({ readings: { 'unknown-fields': 'refused' } }), 'tools', body)
    expect(strict.body.issues).toEqual(
      ['tool.fields[0].size', 'tool.colour', 'more'].map(field => ({ message: `${field} is not known` })),
    )
  })
})

describe('a variable', () => {
  it('has every documented field, and its value even if that is secret', async () => {
    const variables = await list(await open(), 'variables')
    const fields =
      'agentId defaultValue description id in isEnv isGlobal isSystem key required reusable type userId value'
    for (const variable of variables) expect(Object.keys(variable).sort().join(' ')).toBe(fields)
    const secret = variables.filter(({ isEnv }) => isEnv)
    expect(secret.length).toBeGreaterThan(2)
    for (const { value } of secret) expect(value).toContain(CANARY)
    expect(variables.find(({ key }) => key === 'db_password')!.value).toContain(CANARY)
  })

  it('has the id by which tools refer to it', async () => {
    const sandbox = await open()
    const ids = (await list(sandbox, 'variables')).map(({ id }) => id)
    for (const tool of await list(sandbox, 'tools'))
      expect(ids).toEqual(expect.arrayContaining(tool.variablesIds as []))
  })

  it('that is created is listed with its value and defaults', async () => {
    const sandbox = await open()
    const sent = { key: 'tier', value: 3, isGlobal: true }
    const { status, body } = await create<Created>(sandbox, 'variables', { variable: sent })
    expect([status, body.data]).toMatchObject([200, { ...sent, type: 'number', defaultValue: '', isEnv: false }])
    expect((await list(sandbox, 'variables')).at(-1)).toEqual(body.data)
  })

  it('whose key the agent has is refused, generated or created, and another agent may have it', async () => {
    const sandbox = await open()
    for (const key of ['order_number', 'tier', 'tier']) await create(sandbox, 'variables', { variable: { key } })
    const keys = (await list(sandbox, 'variables')).map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
    const { status, body } = await create(sandbox, 'variables', { variable: { key: 'tier' } })
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST'])
    const other = sandbox.world.agentIds()[1]
    expect((await ask(sandbox, 'POST', `/v3/agents/${other}/variables`, { variable: { key: 'tier' } })).status).toBe(
      200,
    )
  })

  it.each([
    [{}],
    [{ variable: { value: 1 } }],
    [{ variable: { key: ' ' } }],
    [{ variable: { key: 'a', isEnv: 'yes' } }],
  ])('is refused: %j', async body => expect((await create(await open(), 'variables', body)).status).toBe(400))
})

describe('a write on an agent', () => {
  it('is reported by agent_updated, and raises lastModified; a refused one does neither', async () => {
    const receiver = await openReceiver()
    const sandbox = await open({ conversations: 3, historyDays: 2, webhooks: { url: receiver.url }, traffic: false })
    sandbox.clock.advance(400 * 86_400_000)
    await sandbox.webhooks.settled()
    const before = receiver.received.length
    await create(sandbox, 'tools', { tool: TOOL })
    await create(sandbox, 'variables', { variable: { key: 'tier' } })
    await create(sandbox, 'variables', { variable: { key: 'tier' } })
    await sandbox.webhooks.settled()
    const agentId = firstAgent(sandbox)
    expect(receiver.received.slice(before)).toMatchObject([
      { event: 'agent_updated', agentId, operation: 'updated' },
      { event: 'agent_updated', agentId, operation: 'updated' },
    ])
    const { agents } = (
      await ask<{ agents: { ID: string; lastModified: number }[] }>(sandbox, 'GET', '/v3/agents/search')
    ).body
    expect(agents.find(({ ID }) => ID === agentId)!.lastModified).toBe(sandbox.clock.now())
  })
})
