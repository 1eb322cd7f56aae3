// Marts that are refreshed change by change equal marts that are built from empty, after any sequence of loads, events
// and erasures in two workspaces. So does a copy that applies the changes which the marts log.
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import { consumers, registerConsumer, removeConsumer } from '../../../src/warehouse/changes/consumers.ts'
import type { Watermark } from '../../../src/warehouse/changes/log-changes.ts'
import { publishedMart } from '../../../src/warehouse/changes/published-tables.ts'
import { changedKeys, changesSince } from '../../../src/warehouse/changes/read-changes.ts'
import { applyTimeZone } from '../../../src/warehouse/load/time-zone.ts'
import { eraseRecords } from '../../../src/warehouse/maintenance/erase-records.ts'
import { type Mart, marts } from '../../../src/warehouse/marts/declarations.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { defineMacros } from '../../../src/warehouse/marts/scope.ts'
import { isDeep, rounds } from '../../tier.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import {
  AGENT,
  landAgents,
  landConversations,
  landMetric,
  landOrganization,
  landTeams,
  SENT_AT_MS,
} from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const id = fc.integer({ min: 0, max: 3 }).map(n => `c${n}`)
const person = fc.constantFrom('ada', 'bob', 'cyd')
const workspace = fc.integer({ min: 0, max: 1 })
const minute = fc.integer({ min: 1, max: 9 })

/** A conversation at a version: days, channels, people and costs change. */
const record = fc.record({
  id,
  version: fc.integer({ min: 1, max: 6 }),
  day: fc.constantFrom(0, 1, 40, null),
  channel: fc.constantFrom('whatsapp', 'webchat'),
  person,
  isTest: fc.constantFrom(true, false, null),
  isResolved: fc.boolean(),
  cost: fc.integer({ min: 0, max: 8 }),
})
type Conversation = typeof record extends fc.Arbitrary<infer V> ? V : never

const OPERATIONS = {
  export: fc.record({ workspace, records: fc.array(record, { minLength: 1, maxLength: 3 }), minute }),
  event: fc.record({ workspace, record }),
  agents: fc.record({ workspace, title: fc.constantFrom('Support', 'Sales') }),
  organization: fc.record({ workspace, id: fc.constantFrom('o', 'p'), title: fc.constantFrom('Acme', 'Emca'), minute }),
  teams: fc.record({
    ...{ workspace, label: fc.constantFrom('East', 'West'), members: fc.subarray(['ada', 'bob']), minute },
    keys: fc.constantFrom(['k1', 'k1'], ['k1', 'k2'], ['k2', 'k3']),
  }),
  metric: fc.record({
    ...{ workspace, id: fc.constantFrom('m1', 'm2'), key: fc.constantFrom('effort', 'mood') },
    ...{ type: fc.constantFrom('number', 'enum'), minute },
  }),
  erase: fc.record({ workspace, id }),
  timeZone: fc.record({ workspace, zone: fc.constantFrom('UTC', 'Pacific/Auckland') }),
  refresh: fc.record({ slice: fc.integer({ min: 1, max: 3 }) }),
} as const
type Name = keyof typeof OPERATIONS
type ValueOf<N extends Name> = (typeof OPERATIONS)[N] extends fc.Arbitrary<infer V> ? V : never
type Operation = { [N in Name]: { name: N; of: ValueOf<N> } }[Name]

const WEIGHTS: Record<Name, number> = {
  export: 8,
  event: 6,
  agents: 2,
  organization: 2,
  teams: 2,
  metric: 2,
  erase: 3,
  timeZone: 1,
  refresh: 6,
}

const operation = fc.oneof(
  ...(Object.keys(OPERATIONS) as Name[]).map(name => ({
    weight: WEIGHTS[name],
    arbitrary: (OPERATIONS[name] as fc.Arbitrary<unknown>).map(of => ({ name, of }) as Operation),
  })),
)

const changedMs = (version: number): number => SENT_AT_MS - DAY + version * 3 * 60 * MINUTE

const valuesOf = ({ version, day, channel, person: user, isTest, isResolved, cost }: Conversation) => ({
  lastModified: changedMs(version),
  lastMessageTS: changedMs(version) - MINUTE,
  ...(day !== null && { ts: SENT_AT_MS - (day + 2) * DAY }),
  ...(isTest !== null && { isTest }),
  userPlatform: channel,
  chatAssignedTo: user,
  assignedTo: { userId: user, name: `${user} ${version % 2}`, assignedAt: new Date(changedMs(version)).toISOString() },
  isResolved,
  resolvedAt: isResolved ? changedMs(version) : null,
  stage: `stage ${version}`,
  value: version,
  currency: version % 2 === 0 ? 'EUR' : null,
  userID: `u${version % 2}`,
  userName: `${user} ${version}`,
  ...(version % 3 > 0 && { userEmail: `${user}${version % 3}@example.com` }),
  tags: version % 2 === 0 ? ['vip', 'refund', 'vip'] : [`tag ${version}`],
  capturedVariables: { color: `color ${version % 3}`, items: [version] },
  metrics: [
    { metricId: 'm1', value: version },
    { key: 'mood', value: version % 2 === 0 ? 'good' : version },
    { key: 'effort', value: 'n/a' },
  ],
  funnelStepsMatched: version % 3 === 0 ? [] : [{ stepId: 'asked', matchedAt: changedMs(version) }, { stepId: user }],
  crmActivities: [
    { type: 'Message', title: `call ${user}`, dueDate: '2026-11-30', completed: version % 2 === 0 },
    { type: 'Call', dueDate: new Date(changedMs(version)).toISOString() },
  ],
  state: cost > 4 ? 'human-chatting' : 'ai-chatting',
  detailedCost: { totalCreditsConsumed: cost / 4, llmCost: cost / 2 },
  csat: { satisfaction10: version, submittedAt: changedMs(version) },
  handoffHistory: Array.from({ length: version % 3 }, (_, index) => ({
    ...{ requestedAt: changedMs(version), acceptedAt: changedMs(version) + index * MINUTE, acceptedBy: user },
    // The key alone, or the id in an organization without teams.
    ...(index === 0
      ? { organizationId: 'o', requestedTeamKey: 'k2', teamKeys: ['k3'] }
      : { organizationId: 'p', teamIds: ['t1', 't3'], teamKeys: ['k1'] }),
  })),
  // Powers of two are used, so that sums do not depend on their order.
  tokenUsage: {
    ...{ cumulativeTotalTokens: cost * 10, cumulativeUsd: cost / 8 },
    usagePerModel: { [`model ${version % 2}`]: { totalTokens: cost * 4, usd: cost / 16 } },
  },
})

async function perform(workspaces: readonly Workspace[], { name, of }: Operation): Promise<void> {
  const { writer } = app.warehouse
  const place = 'workspace' in of ? workspaces[of.workspace]! : workspaces[0]!
  const { landing, load, context } = place
  switch (name) {
    case 'export': {
      const records = of.records.map(one => ({ ID: one.id, ...valuesOf(one) }))
      await load(await landConversations(landing, { records, sentAtMs: SENT_AT_MS + of.minute * MINUTE }))
      return
    }
    case 'event': {
      const turns = [
        { role: 'user', text: 'a', timestamp: changedMs(of.record.version) },
        { role: 'assistant', text: 'b', timestamp: changedMs(of.record.version) + of.record.cost * MINUTE },
      ]
      const createdAt = changedMs(of.record.version)
      const lightConvoData = valuesOf(of.record)
      await applyTo(
        place,
        eventOf('conversation_updated', { agentId: AGENT, convoId: of.record.id, createdAt, lightConvoData, turns }),
      )
      return
    }
    case 'agents':
      await load(await landAgents(landing, { agents: [{ ID: AGENT, title: of.title }] }))
      return
    case 'organization': {
      const data = { ID: of.id, name: of.title, widgetIDs: of.id === 'o' ? [AGENT] : [] }
      await load(await landOrganization(landing, { id: of.id, data, sentAtMs: SENT_AT_MS + of.minute * MINUTE }))
      return
    }
    case 'teams': {
      const sentAtMs = SENT_AT_MS + of.minute * MINUTE
      const teams = ['t1', 't2'].map((ID, index) => ({
        ...{ ID, orgId: 'o', key: of.keys[index], label: `${of.label} ${ID}`, memberIds: of.members },
      }))
      await load(await landTeams(landing, { id: 'o', teams, sentAtMs }))
      return
    }
    case 'metric': {
      const { id: metricId, key, type, minute: at } = of
      await load(await landMetric(landing, { metric: { id: metricId, key, type }, sentAtMs: SENT_AT_MS + at * MINUTE }))
      return
    }
    case 'erase': {
      const records = [{ table: 'conversations', key: [AGENT, of.id] }]
      await eraseRecords(writer, { workspaceId: context.workspaceId, records, nowMs: SENT_AT_MS })
      return
    }
    case 'timeZone':
      context.timeZone = of.zone
      await applyTimeZone(writer, context.workspaceId, of.zone)
      return
    case 'refresh':
      await refreshMarts(writer, { slice: of.slice })
  }
}

/** Returns all rows as JSON, by one query for all marts. */
const rowsOf = async (relation = ({ name }: Mart) => `marts.${name}`): Promise<unknown> => {
  const rows = marts().map(mart => `SELECT '${mart.name}' AS mart, to_json(t)::VARCHAR AS row FROM ${relation(mart)} t`)
  return app.warehouse.writer.rows(`${rows.join(' UNION ALL ')} ORDER BY ALL`)
}

/** Returns the rows that the SELECT of each mart returns over all rows of its tables, and of the marts that it is built from. */
async function computedRows(): Promise<unknown> {
  await defineMacros(app.warehouse.writer)
  return rowsOf(mart => `(${mart.select}\n)`)
}

/** Returns the rows of marts that are built from empty. */
async function rebuiltRows(options: { slice?: number } = {}): Promise<unknown> {
  await app.warehouse.writer.run('DELETE FROM _marts')
  await refreshMarts(app.warehouse.writer, options)
  return rowsOf()
}

/** Returns a copy of the marts, kept by the change log. */
async function openCopy() {
  const { writer } = app.warehouse
  await registerConsumer(writer, 'copy')
  await writer.run(`ATTACH ':memory:' AS copy`)
  let watermark: Watermark | null = null
  return {
    async apply(): Promise<void> {
      const answer = await changesSince(writer, { name: 'copy', watermark })
      const copyOf = (table: string) => `copy.${table.slice('marts.'.length)}`
      if (answer.kind === 'refill')
        for (const { table } of marts().map(publishedMart))
          await writer.run(`CREATE OR REPLACE TABLE ${copyOf(table)} AS FROM ${table}`)
      else
        for (const { published } of answer.tables) {
          const { table, key } = published
          if (!table.startsWith('marts.')) continue
          const isChanged = `(${key.map(({ name }) => name).join(', ')}) IN (${changedKeys(published, answer)})`
          await writer.run(`DELETE FROM ${copyOf(table)} WHERE ${isChanged}`)
          await writer.run(`INSERT INTO ${copyOf(table)} FROM ${table} WHERE ${isChanged}`)
        }
      watermark = answer.to
    },
    close: () => writer.run('DETACH copy'),
  }
}

afterEach(async () => {
  for (const { name } of await consumers(app.warehouse.writer)) await removeConsumer(app.warehouse.writer, name)
})

const one = (parts: Partial<Conversation>): Conversation => ({
  ...{ id: 'c0', version: 1, day: 0, channel: 'whatsapp', person: 'ada', isTest: false, isResolved: true, cost: 1 },
  ...parts,
})

const exportOf = (at: number, ...records: Partial<Conversation>[]): Operation => ({
  name: 'export',
  of: { workspace: 0, minute: at, records: records.map(one) },
})

/** One operation for each way in which rows of a mart may change. */
const KINDS: Record<string, Operation> = {
  'a conversation that moves to another day and channel': exportOf(2, {
    version: 2,
    day: 40,
    channel: 'webchat',
    cost: 4,
  }),
  'a conversation that becomes a test': exportOf(3, { version: 3, day: 40, isTest: true }),
  'a transcript and a patch': { name: 'event', of: { workspace: 0, record: one({ id: 'c1', version: 5, cost: 8 }) } },
  'a conversation known from an event alone': { name: 'event', of: { workspace: 0, record: one({ id: 'c3' }) } },
  'another assignee': exportOf(4, { id: 'c2', version: 5, person: 'bob' }),
  'a renamed agent': { name: 'agents', of: { workspace: 0, title: 'Sales' } },
  'a renamed organization': { name: 'organization', of: { workspace: 0, id: 'p', title: 'Emca', minute: 8 } },
  'renamed teams': {
    name: 'teams',
    of: { workspace: 0, label: 'West', members: ['ada'], keys: ['k1', 'k1'], minute: 7 },
  },
  'teams with other keys': {
    ...{ name: 'teams', of: { workspace: 0, label: 'West', members: ['ada'], keys: ['k2', 'k3'], minute: 8 } },
  },
  'teams without these keys': {
    ...{ name: 'teams', of: { workspace: 0, label: 'West', members: ['ada'], keys: ['k1', 'k1'], minute: 9 } },
  },
  'a metric that is declared': {
    ...{ name: 'metric', of: { workspace: 0, id: 'm1', key: 'effort', type: 'enum', minute: 1 } },
  },
  'a metric whose key conversations name': {
    ...{ name: 'metric', of: { workspace: 0, id: 'm2', key: 'mood', type: 'number', minute: 1 } },
  },
  'a metric with another key and type': {
    ...{ name: 'metric', of: { workspace: 0, id: 'm1', key: 'mood', type: 'number', minute: 2 } },
  },
  'a person whom one conversation names': exportOf(10, { id: 'c2', version: 5, person: 'cyd' }),
  'a newer name in another conversation': exportOf(11, { id: 'c3', version: 6, person: 'cyd', cost: 2 }),
  'the newest name of a person is gone': { name: 'erase', of: { workspace: 0, id: 'c3' } },
  'a person whom no conversation names any more': exportOf(12, { id: 'c2', version: 5, person: 'bob' }),
  'an erased conversation': { name: 'erase', of: { workspace: 0, id: 'c1' } },
  'a group that becomes empty': exportOf(13, { id: 'c2', version: 5, day: 1, channel: 'webchat' }),
  'a page without a conversation, two days later': exportOf(3_000),
}

const MART_RUNS = rounds('MART_RUNS', { usual: 1, deep: 60 })

describe('marts that are brought up to date', () => {
  it('equal marts that are built from empty after every kind of change, and so does a copy by the change log', async () => {
    const workspaces = [app.workspace()]
    const { writer } = app.warehouse
    const stored: Operation[] = [
      exportOf(1, {}, { id: 'c1' }, { id: 'c2', version: 4, day: 1, channel: 'webchat' }),
      { name: 'agents', of: { workspace: 0, title: 'Support' } },
      { name: 'organization', of: { workspace: 0, id: 'p', title: 'Acme', minute: 1 } },
      { name: 'teams', of: { workspace: 0, label: 'East', members: ['ada', 'bob'], keys: ['k1', 'k1'], minute: 1 } },
    ]
    for (const operation of stored) await perform(workspaces, operation)
    await refreshMarts(writer)
    const copy = await openCopy()
    try {
      await copy.apply()
      let before = await rowsOf()
      const compare = async (what: string): Promise<void> => {
        await copy.apply()
        const rows = await rowsOf()
        expect(rows, `${what} change something`).not.toEqual(before)
        expect(await rowsOf(({ name }) => `copy.${name}`), `a copy after ${what}`).toEqual(rows)
        expect(await computedRows(), what).toEqual(rows)
        before = rows
      }
      // By default several kinds at once: a refresh takes as long as for one.
      const kinds = Object.keys(KINDS)
      const atOnce = isDeep ? 1 : 10
      for (let first = 0; first < kinds.length; first += atOnce) {
        const some = kinds.slice(first, first + atOnce)
        for (const kind of some) await perform(workspaces, KINDS[kind]!)
        await refreshMarts(writer)
        await compare(some.join())
      }
      // The change begins a new epoch, in which everything is built again.
      await perform(workspaces, { name: 'timeZone', of: { workspace: 0, zone: 'Pacific/Auckland' } })
      await refreshMarts(writer, { slice: 2 })
      await compare('another time zone')
    } finally {
      await copy.close()
    }
  })

  const timeout = MART_RUNS * 20_000
  it.runIf(isDeep)('equal marts that are built from empty, after any sequence of changes', { timeout }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 10 }), async operations => {
        const workspaces = [app.workspace(), app.workspace()]
        await refreshMarts(app.warehouse.writer)
        for (const each of operations) await perform(workspaces, each)
        await refreshMarts(app.warehouse.writer)
        const rows = await rowsOf()
        expect(await rebuiltRows({ slice: 2 })).toEqual(rows)
      }),
      { numRuns: MART_RUNS, endOnFailure: true },
    )
  })

  it('log only facts that differ, also while nobody copies them, nothing while no table changes, and an erasure at once', async () => {
    const place = app.workspace()
    const { writer } = app.warehouse
    await perform([place], exportOf(1, { version: 2 }, { id: 'c1' }))
    const first = await refreshMarts(writer)
    expect(await refreshMarts(writer)).toEqual(first)
    await registerConsumer(writer, 'checks')
    const watermark = await registerConsumer(writer, 'copy')
    // A target may come back before the log is trimmed.
    await removeConsumer(writer, 'copy')
    await perform([place], exportOf(2, { version: 2, cost: 3 }))
    await refreshMarts(writer)
    await registerConsumer(writer, 'copy')
    const answer = await changesSince(writer, { name: 'copy', watermark })
    const logged = answer.kind === 'refill' ? [] : answer.tables.map(({ published }) => published.table)
    expect(logged).toContain('conversations')
    expect(logged.filter(table => table.startsWith('marts.fct_'))).toEqual([
      'marts.fct_conversations',
      'marts.fct_spend',
      'marts.fct_state_spans',
      'marts.fct_token_usage',
    ])
    await perform([place], { name: 'erase', of: { workspace: 0, id: 'c0' } })
    expect(await place.rows('marts.fct_conversations', 'conversation_id')).toEqual([{ conversation_id: 'c1' }])
    expect(await place.rows('marts.conversations_daily', 'sum(conversations)::INTEGER AS n')).toEqual([{ n: 1 }])
    const ops = await writer.rows(
      `SELECT DISTINCT op FROM _changes WHERE table_name = 'marts.fct_conversations' AND key[3] = 'c0'`,
    )
    expect(ops).toEqual([{ op: 'delete' }])
  })

  it('are rebuilt by another version of Node only if it names a language differently', async () => {
    const place = app.workspace()
    const { writer } = app.warehouse
    await perform([place], exportOf(1, { version: 2 }, { id: 'c1' }))
    const { epoch } = await refreshMarts(writer)
    const byAnother = "UPDATE _marts SET definition = split_part(definition, '.', 1) || '.1'"
    await writer.run(byAnother)
    expect((await refreshMarts(writer)).epoch).toBe(epoch)
    await writer.run(`${byAnother}; UPDATE marts.fct_conversations SET language_name = 'another'`)
    expect((await refreshMarts(writer)).epoch).not.toBe(epoch)
  })
})
