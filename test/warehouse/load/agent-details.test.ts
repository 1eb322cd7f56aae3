// Agents in detail: child tables and columns from the records that a listing returns.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coerceRecord } from '../../../src/catalog/inspection/coerce.ts'
import { fits } from '../../../src/catalog/inspection/inspect.ts'
import { agent } from '../../../src/catalog/resources/agents.ts'
import type { Field, Fields } from '../../../src/catalog/shape.ts'
import { anyAgent } from '../../catalog/arbitrary-records.ts'
import { landAgents } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

describe('an agent of any shape', () => {
  const fitsAll = (fields: Fields, object: Record<string, unknown>): void => {
    for (const [key, field] of Object.entries(fields)) expect(fits(field, object[key]), key).toBe(true)
  }

  it('has computed fields of the declared types', () => {
    const { fields } = agent.computed!
    const elements = (field: Field): Fields => (field.kind === 'objects' ? field.fields : {})
    fc.assert(
      fc.property(anyAgent, sent => {
        const { record } = coerceRecord(agent, sent)!
        fitsAll(fields, record)
        for (const [key, field] of Object.entries(fields))
          if (field.kind === 'objects')
            for (const element of record[key] as Record<string, unknown>[]) fitsAll(elements(field), element)
      }),
    )
  })

  it('is loaded, with an issue for what does not fit, and without losing a value', async () => {
    const any = fc.sample(anyAgent, 60).map((record, at) => ({ ...record, ID: `any-${at}` }))
    const workspace = app.workspace()
    await workspace.load(await landAgents(workspace.landing, { agents: any }))
    expect(await workspace.rows('agents', 'count(*) AS n')).toEqual([{ n: '60' }])
    expect(await workspace.rows('_quarantine')).toEqual([])
  })
})

describe('is_starred', () => {
  const listed = async (page: { starredIds?: string[] }) => {
    const workspace = app.workspace()
    const agents = [
      { ID: 'plain' },
      { ID: 'listed' },
      { ID: 'says so', starred: true },
      { ID: 'denies', starred: false },
    ]
    const starredAgents = [{ ID: 'only there' }]
    await workspace.load(await landAgents(workspace.landing, { agents, starredAgents, ...page }))
    const rows = await workspace.rows('agents', 'agent_id, is_starred')
    return Object.fromEntries(rows.map(row => [row.agent_id, row.is_starred]))
  }

  it('is as the list of starred agents says, or else the agent itself', async () => {
    expect(await listed({ starredIds: ['listed', 'only there'] })).toEqual({
      plain: false,
      listed: true,
      'says so': true,
      denies: false,
      'only there': true,
    })
  })
})
