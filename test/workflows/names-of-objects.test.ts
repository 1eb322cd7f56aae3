// Ids, tags, variables and models with names that every JavaScript object has.
import { expect, it } from 'vitest'
import { spoolOf } from '../../src/app/spool.ts'
import { drainAll } from '../../workflows/ingest.ts'
import { receiveEvents } from '../spool/arbitrary-events.ts'
import { modelled, modelledVendor } from './simulated/modelled-vendor.ts'
import { START_MS, WORKSPACE } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'

const NAMES = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']
const HOUR = 3_600_000

/** An object with each name as a key of its own. */
const named = (value: unknown) => JSON.parse(`{${NAMES.map(name => `"${name}":${JSON.stringify(value)}`).join()}}`)

const record = (ID: string, ts: number) =>
  modelled(ID, ts, {
    tags: NAMES,
    userID: ID,
    capturedVariables: named('x'),
    tokenUsage: { usagePerModel: named({ inputTokens: 7, outputTokens: 1 }) },
    ...named(1),
  })

it('agents, conversations, tags, variables and models named like members of objects are exported, refreshed, updated by events and in the marts', async () => {
  const vendor = modelledVendor(
    NAMES.map(agent => [agent, NAMES.map((id, at) => record(id, START_MS - (at + 2) * HOUR))]),
  )
  const simulated = await simulatedApp({ through: vendor.start })
  const expected = NAMES.toSorted().flatMap(agent => NAMES.toSorted().map(id => ({ agent, id })))
  const stored = (table: string, more = '') =>
    simulated.rows(`SELECT DISTINCT agent_id AS agent, conversation_id AS id ${more} FROM ${table} ORDER BY ALL`)

  expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [], conversations: 25 })
  expect(await stored('conversations')).toEqual(expected)
  for (const [table, column] of [
    ['conversation_tags', 'tag'],
    ['conversation_captured_variables', 'name'],
    ['token_usage_by_model', 'model_id'],
    ['marts.tags_daily', 'tag'],
    ['marts.captured_variables_top', 'variable'],
    ['marts.token_usage_daily', 'model_id'],
    ['marts.dim_agents', 'agent_id'],
  ]) {
    const held = await simulated.rows<{ name: string }>(`SELECT DISTINCT ${column} AS name FROM ${table} ORDER BY 1`)
    expect(held.map(({ name }) => name)).toEqual(NAMES.toSorted())
  }
  expect(await stored('marts.fct_conversations')).toEqual(expected)

  simulated.advance(2 * HOUR)
  const ids = NAMES.map(agent => [agent, NAMES] as const)
  expect(await simulated.sync({ refresh: { ids, ageMs: null } })).toMatchObject({ conversations: 25, failures: [] })
  simulated.advance(2 * HOUR)
  expect(await simulated.sync({ mode: 'selected', ids })).toMatchObject({ conversations: 25, failures: [] })

  const { home } = simulated.config
  const nowMs = simulated.clock.now()
  const events = NAMES.flatMap(agentId =>
    NAMES.map(convoId => {
      const light = { ...record(convoId, nowMs), summary: 'told', ...named(2) }
      const event = { event: 'conversation_updated', agentId, convoId, turns: [], lightConvoData: light, ...named(3) }
      return { ...event, createdAt: nowMs }
    }),
  )
  await receiveEvents({ home, workspaceId: WORKSPACE, nowMs }, events)
  const { app, config, clock } = simulated
  await drainAll(spoolOf({ app, home, workspace: config.workspaces[0]!, now: () => clock.now() }), WORKSPACE)
  const told = expected.map(key => ({ ...key, summary: 'told' }))
  expect(await stored('conversations', ', summary')).toEqual(told)

  await simulated.replay()
  expect(await stored('conversations', ', summary')).toEqual(told)
  simulated.advance(3 * HOUR)
  expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [], agentsGone: [] })
})
