// Sections 4.1 to 4.4: tools and variables.
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { firstAgent } from '../caller.ts'
import { ask } from '../endpoints/writer.ts'
import { expectRefused, isServed, type Section } from './sentences.ts'

type Item = { id: string } & Record<string, unknown>

const TOOL_FIELDS =
  'agentId backchannellingPhrases channels createdAt description disabled extId fields id isDefault isExtTool isGlobal method name serverUrl serverUrlSecret toolsSettings updatedAt userId variablesIds'
const VARIABLE_FIELDS =
  'agentId defaultValue description id in isEnv isGlobal isSystem key required reusable type userId value'

const names = (value: object) => Object.keys(value).sort().join(' ')

const path = (sandbox: Sandbox, resource: 'tools' | 'variables') => `/v3/agents/${firstAgent(sandbox)}/${resource}`

async function list(sandbox: Sandbox, resource: 'tools' | 'variables'): Promise<Item[]> {
  const { status, body } = await ask<{ data: Item[] }>(sandbox, 'GET', path(sandbox, resource))
  expect([status, body]).toEqual([200, { success: true, message: expect.any(String), data: expect.any(Array) }])
  return body.data
}

async function create(sandbox: Sandbox, resource: 'tools' | 'variables', sent: object): Promise<Item> {
  const { status, body } = await ask<{ data: Item }>(sandbox, 'POST', path(sandbox, resource), sent)
  expect([status, body]).toEqual([200, { success: true, message: expect.any(String), data: expect.any(Object) }])
  return body.data
}

const FIELD = {
  in: 'query',
  type: 'string',
  value: 'a',
  defaultValue: 'b',
  key: 'order',
  description: 'Number',
  required: true,
  reusable: true,
  isEnv: false,
  isSystem: false,
  isGlobal: true,
}
const TOOL = {
  name: 'Ship',
  description: 'Sends the order',
  isDefault: false,
  method: 'GET',
  serverUrl: 'https://shop.example.com/ship',
  serverUrlSecret: 's3cret',
  disabled: true,
  isExtTool: false,
  isGlobal: true,
  variablesIds: ['var_order'],
  toolsSettings: { retries: 2, nested: [{ a: null }] },
  fields: [{ ...FIELD, id: 'fld_9' }],
  channels: ['web-chat', 'whatsapp'],
}
const { type: _, ...VARIABLE } = { ...FIELD, key: 'tier', value: { a: [1] }, isEnv: true }

export const TOOLS_CREATED: Section = {
  sentences: [
    ['is POST …/tools', isServed('POST /v3/agents/{agentId}/tools')],
    [
      'the body is a tool, wrapped in `tool`',
      async open => {
        const sandbox = await open()
        expect(await create(sandbox, 'tools', { tool: TOOL })).toMatchObject(TOOL)
        expectRefused(await ask(sandbox, 'POST', path(sandbox, 'tools'), TOOL), 400)
      },
    ],
    [
      'name and description are required',
      async open => {
        const sandbox = await open()
        const before = (await list(sandbox, 'tools')).length
        for (const tool of [{ name: 'a' }, { description: 'b' }, {}])
          expectRefused(await ask(sandbox, 'POST', path(sandbox, 'tools'), { tool }), 400)
        expect(await list(sandbox, 'tools')).toHaveLength(before)
        await create(sandbox, 'tools', { tool: { name: 'a', description: 'b' } })
      },
    ],
    [
      'the answer has the tool as data, and the tool is kept',
      async open => {
        const sandbox = await open()
        const data = await create(sandbox, 'tools', { tool: { name: 'a', description: 'b' } })
        expect(names(data)).toBe(TOOL_FIELDS)
        // An empty array is the default of `channels` (2.1).
        expect(data.channels).toEqual([])
        expect((await list(sandbox, 'tools')).at(-1)).toEqual(data)
      },
    ],
  ],
}

export const TOOLS_LISTED: Section = {
  sentences: [
    ['is GET …/tools', isServed('GET /v3/agents/{agentId}/tools')],
    ['needs no body', async open => void (await list(await open(), 'tools'))],
    [
      'data lists the tools, with their fields',
      async open => {
        const sandbox = await open()
        const tools = await list(sandbox, 'tools')
        for (const tool of tools) expect(names(tool)).toBe(TOOL_FIELDS)
        const fields = tools.flatMap(tool => tool.fields as object[])
        expect(fields.length).toBeGreaterThan(1)
        for (const field of fields) expect(names(field)).toBe(VARIABLE_FIELDS)
      },
    ],
  ],
}

export const VARIABLES_CREATED: Section = {
  sentences: [
    ['is POST …/variables', isServed('POST /v3/agents/{agentId}/variables')],
    [
      'the body is a variable of ten fields, wrapped in `variable`',
      async open => {
        const sandbox = await open()
        expect(await create(sandbox, 'variables', { variable: VARIABLE })).toMatchObject(VARIABLE)
        expectRefused(await ask(sandbox, 'POST', path(sandbox, 'variables'), VARIABLE), 400)
      },
    ],
    [
      'the answer has the variable as data, and the variable is kept',
      async open => {
        const sandbox = await open()
        const data = await create(sandbox, 'variables', { variable: { key: 'tier' } })
        expect(names(data)).toBe(VARIABLE_FIELDS)
        expect((await list(sandbox, 'variables')).at(-1)).toEqual(data)
      },
    ],
    [
      'a key that the agent has is a 400, and changes nothing',
      async open => {
        const sandbox = await open()
        const before = await list(sandbox, 'variables')
        const again = (key: unknown) => ask(sandbox, 'POST', path(sandbox, 'variables'), { variable: { key } })
        expectRefused(await again(before[0]!.key), 400)
        expect(await list(sandbox, 'variables')).toEqual(before)
        expect((await again('tier')).status).toBe(200)
        expectRefused(await again('tier'), 400)
        // Unique within the agent (2.2): another agent may have the key.
        const other = `/v3/agents/${sandbox.world.agentIds()[1]}/variables`
        expect((await ask(sandbox, 'POST', other, { variable: { key: 'tier' } })).status).toBe(200)
      },
    ],
  ],
}

export const VARIABLES_LISTED: Section = {
  sentences: [
    ['is GET …/variables', isServed('GET /v3/agents/{agentId}/variables')],
    [
      'data lists the variables with their current values',
      async open => {
        const sandbox = await open()
        const { id } = await create(sandbox, 'variables', { variable: VARIABLE })
        const variables = await list(sandbox, 'variables')
        for (const variable of variables) expect(names(variable)).toBe(VARIABLE_FIELDS)
        expect(variables.find(variable => variable.id === id)).toMatchObject({ value: VARIABLE.value, isEnv: true })
        expect(variables.filter(({ value }) => value !== null).length).toBeGreaterThan(5)
      },
    ],
  ],
}
