// Sections 4.5 and 4.6: the audit log of an agent, and the update of the workspace.
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/server.ts'
import { firstAgent } from '../caller.ts'
import { ask } from '../endpoints/writer.ts'
import { each, expectRefused, isServed, SAYS_NOTHING, type Section } from './sentences.ts'

interface Page {
  entries: { ts: number }[]
  nextCursorTs?: number | null
}

const page = async (sandbox: Sandbox, query: string): Promise<Page> => {
  const path = `/v3/agents/${firstAgent(sandbox)}/audit-log?${query}`
  const { status, body } = await ask<Page>(sandbox, 'GET', path)
  expect(status).toBe(200)
  return body
}

export const AUDIT_LOG: Section = {
  readings: [...each('audit-cursor', ['exclusive']), ...each('last-audit-cursor', ['absent', 'present'])],
  sentences: [
    ['is GET …/audit-log', isServed('GET /v3/agents/{agentId}/audit-log')],
    [
      '`limit` is the size of a page, a whole number',
      async open => {
        const sandbox = await open()
        for (const limit of [1, 7, 30]) expect((await page(sandbox, `limit=${limit}`)).entries).toHaveLength(limit)
        expectRefused(await ask(sandbox, 'GET', `/v3/agents/${firstAgent(sandbox)}/audit-log?limit=x`), 400)
      },
    ],
    [
      '`cursorTs`, the `nextCursorTs` of the page before, leads to older entries',
      async open => {
        const sandbox = await open()
        const first = await page(sandbox, 'limit=30')
        const next = await page(sandbox, `limit=30&cursorTs=${first.nextCursorTs}`)
        const last = first.entries.at(-1)!.ts
        expect(next.entries.length).toBeGreaterThan(0)
        for (const { ts } of next.entries) expect(ts).toBeLessThanOrEqual(last)
        expect(next.entries.at(-1)!.ts).toBeLessThan(last)
      },
    ],
    [
      'the answer has `success`, entries and a whole number as cursor',
      async open => {
        const body = await page(await open(), 'limit=30')
        expect(body).toEqual({ success: true, entries: expect.any(Array), nextCursorTs: expect.any(Number) })
        expect(Number.isInteger(body.nextCursorTs)).toBe(true)
        for (const entry of body.entries)
          expect(Object.keys(entry).sort().join(' ')).toBe('actor agentId field newValue oldValue source ts')
      },
    ],
    ['default and maximum of `limit`', SAYS_NOTHING],
  ],
}

const patch = (sandbox: Sandbox, updates: unknown, id = 'ws_demo') =>
  ask<{ data: Record<string, unknown> }>(sandbox, 'PATCH', `/v3/workspaces/${id}`, { updates })

const ALL = {
  workspaceName: 'Nørth',
  workspaceEmails: ['a@example.com', 'b@example.com'],
  automaticBilling: true,
  marketplaceProfile: {
    username: 'ours',
    description: 'We build agents',
    email: 'm@example.com',
    photoURL: 'https://cdn.example.com/m.png',
  },
}

export const WORKSPACE: Section = {
  sentences: [
    ['is PATCH /v3/workspaces/{id}', isServed('PATCH /v3/workspaces/{id}')],
    [
      'the id is that of the workspace',
      async open => {
        const sandbox = await open()
        expect((await patch(sandbox, {})).body.data.uid).toBe('ws_demo')
        expect((await patch(sandbox, {}, 'ws_other')).status).toBeGreaterThanOrEqual(400)
      },
    ],
    [
      'the body has the updates of four fields, one of them a profile of four',
      async open => {
        const sandbox = await open()
        const { automaticBilling: _, marketplaceProfile: _profile, ...shown } = ALL
        const { status, body } = await patch(sandbox, ALL)
        expect([status, body.data]).toMatchObject([200, shown])
        expectRefused(await ask(sandbox, 'PATCH', '/v3/workspaces/ws_demo', shown), 400)
      },
    ],
    [
      'only the given fields change',
      async open => {
        const sandbox = await open()
        const { data: before } = (await patch(sandbox, {})).body
        const { data: renamed } = (await patch(sandbox, { workspaceName: 'Nørth' })).body
        expect(renamed).toEqual({ ...before, workspaceName: 'Nørth' })
        const { data } = (await patch(sandbox, { workspaceEmails: [] })).body
        expect(data).toEqual({ ...before, workspaceName: 'Nørth', workspaceEmails: [] })
      },
    ],
    [
      'a username of the marketplace is unique: one that is taken is refused, and nothing changes',
      async open => {
        const sandbox = await open()
        const { data: before } = (await patch(sandbox, {})).body
        const taken = await patch(sandbox, { workspaceName: 'New', marketplaceProfile: { username: 'nova-labs' } })
        expectRefused(taken, sandbox.readings['username-taken'] === '400' ? 400 : 409)
        expect((await patch(sandbox, {})).body.data).toEqual(before)
        expect((await patch(sandbox, { marketplaceProfile: { username: 'ours' } })).status).toBe(200)
      },
      each('username-taken', ['400']),
    ],
    ['a profile publishes and shares agents', { untestable: 'no endpoint of the document shows a marketplace' }],
    [
      'the answer has the workspace as data',
      async open => {
        const { status, body } = await patch(await open(), {})
        expect([status, body]).toEqual([
          200,
          {
            success: true,
            message: expect.any(String),
            data: {
              uid: 'ws_demo',
              email: expect.any(String),
              displayName: expect.any(String),
              workspaceName: expect.any(String),
              workspaceEmails: expect.arrayContaining([expect.any(String)]),
              photoURL: expect.any(String),
              region: expect.any(String),
              hasEverPaid: true,
            },
          },
        ])
      },
    ],
  ],
}
