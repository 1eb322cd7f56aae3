import { describe, expect, it } from 'vitest'
import { call, type ExportBody, exportable, exportPage, firstAgent, idsOf, open, START_MS } from '../caller.ts'

describe('selected conversations', () => {
  it('are the requested ones, in the requested order, and bill their sessions', async () => {
    const sandbox = await open()
    const wanted = exportable(sandbox, firstAgent(sandbox)).slice(10, 40).reverse()
    const convoIds = wanted.map(({ id }) => id).join(',')
    const page = await exportPage(sandbox, firstAgent(sandbox), { convoIds })
    expect(page).toMatchObject({ mode: 'selected', hasMore: false, nextCursor: null, scannedConvoCount: 30 })
    expect(page.data).toEqual(wanted.map(({ document }) => document))
    expect(page.usage.billableUsedThisRequest).toBe(
      wanted.reduce((sum, { billableSessions }) => sum + billableSessions, 0),
    )
  })

  it('may be named in a repeated parameter, with spaces, or twice', async () => {
    const sandbox = await open()
    const [one, two, three] = exportable(sandbox, firstAgent(sandbox)).map(({ id }) => id) as [string, string, string]
    const query = `convoIds=${one},%20${two}&convoIds=${three}&convoIds=${one}`
    const response = await call(sandbox, `/v3/agents/${firstAgent(sandbox)}/convos/export?${query}`)
    expect(idsOf([(await response.json()) as ExportBody])).toEqual([one, two, three])
  })

  it('are omitted if they are unknown, of another agent, or without a message by a person', async () => {
    const sandbox = await open({ conversations: 600 })
    const [agentId, otherAgent] = sandbox.world.agentIds() as [string, string]
    const silent = [...sandbox.world.conversations(agentId, START_MS)].find(
      ({ billableSessions }) => billableSessions === 0,
    )!
    const foreign = exportable(sandbox, otherAgent)[0]!
    const known = exportable(sandbox, agentId)[0]!
    const convoIds = ['unknown', silent.id, foreign.id, known.id].join(',')
    const page = await exportPage(sandbox, agentId, { convoIds })
    expect(idsOf([page])).toEqual([known.id])
    expect(page.scannedConvoCount).toBe(2)
  })
})
