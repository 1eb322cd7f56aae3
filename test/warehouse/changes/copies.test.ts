// A copy to which the changes of the log are applied equals the live tables: from any point, in any number of steps, over real loads and
// events of two workspaces.
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import {
  acknowledge,
  consumers,
  registerConsumer,
  removeConsumer,
  trimChanges,
} from '../../../src/warehouse/changes/consumers.ts'
import { retryEvent } from '../../../src/warehouse/events/apply.ts'
import { applyTimeZone } from '../../../src/warehouse/load/time-zone.ts'
import { eraseRecords } from '../../../src/warehouse/maintenance/erase-records.ts'
import { retryQuarantined } from '../../../src/warehouse/maintenance/quarantine-retry.ts'
import { rounds } from '../../tier.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, landAgents, landConversations, landOrganization, landTeams, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'
import { type Copy, openCopy } from './copies.ts'

const app = temporaryWarehouse()

const id = fc.integer({ min: 0, max: 3 }).map(n => `c${n}`)
const other = fc.constantFrom('one', 'two')
const version = fc.integer({ min: 1, max: 6 })

/** A conversation at a version; its `ts` moves between months, or is absent. */
const record = fc.record({
  id,
  version,
  month: fc.constantFrom(0, 1, 2, null),
  hasModified: fc.boolean(),
  tags: fc.subarray(['a', 'b']),
})

const workspace = fc.integer({ min: 0, max: 1 })

const OPERATIONS = {
  export: fc.record({
    workspace,
    records: fc.array(record, { maxLength: 3 }),
    missing: fc.uniqueArray(id, { maxLength: 2 }),
    minute: fc.integer({ min: 1, max: 9 }),
  }),
  events: fc.record({
    workspace,
    events: fc.array(
      fc.record({
        type: fc.constantFrom(
          ...(['conversation_updated', 'conversation_updated', 'message_received', 'form_submitted'] as const),
          ...(['agent_updated', 'agent_deleted', 'organisation_deleted', 'client_created', 'no_such_type'] as const),
        ),
        record,
        other,
      }),
      { minLength: 1, maxLength: 4 },
    ),
  }),
  agents: fc.record({
    workspace,
    agents: fc.subarray(['one', 'two']),
    isLast: fc.boolean(),
    minute: fc.integer({ min: 1, max: 9 }),
  }),
  organization: fc.record({ workspace, other, found: fc.boolean(), minute: fc.integer({ min: 1, max: 9 }) }),
  teams: fc.record({ workspace, other, teams: fc.subarray(['t1', 't2']), minute: fc.integer({ min: 1, max: 9 }) }),
  retry: fc.record({ workspace, record, isEvent: fc.boolean() }),
  erase: fc.record({ workspace, id, other }),
  timeZone: fc.record({ workspace, zone: fc.constantFrom('UTC', 'Pacific/Auckland') }),
  step: fc.record({ copy: workspace, limit: fc.option(fc.integer({ min: 1, max: 6 })), acknowledges: fc.boolean() }),
  trim: fc.record({ all: fc.boolean() }),
  again: fc.record({ copy: workspace }),
} as const

type Name = keyof typeof OPERATIONS
type ValueOf<N extends Name> = (typeof OPERATIONS)[N] extends fc.Arbitrary<infer V> ? V : never
type Operation = { [N in Name]: { name: N; of: ValueOf<N> } }[Name]

/** Writing operations are more frequent than those that begin an epoch or trim. */
const WEIGHTS: Record<Name, number> = {
  ...{ export: 18, events: 18, step: 15, agents: 6, organization: 6, teams: 6, retry: 6, erase: 6 },
  ...{ timeZone: 1, trim: 2, again: 1 },
}

const operation = fc.oneof(
  ...(Object.keys(OPERATIONS) as Name[]).map(name => ({
    weight: WEIGHTS[name],
    arbitrary: (OPERATIONS[name] as fc.Arbitrary<unknown>).map(of => ({ name, of }) as Operation),
  })),
)

const changedMs = (n: number): number => SENT_AT_MS - DAY + n * MINUTE

const valuesOf = ({ version: n, month, hasModified, tags }: ValueOf<'retry'>['record']) => ({
  state: `state ${n}`,
  tags,
  ...(month !== null && { ts: Date.UTC(2026, month, 1 + n, 18) }),
  ...(hasModified && { lastModified: changedMs(n) }),
})

function eventFor({ type, record: one, other: name }: ValueOf<'events'>['events'][number]) {
  const createdAt = changedMs(one.version)
  const ofConversation = { agentId: AGENT, convoId: one.id, createdAt }
  const payloads: Partial<Record<typeof type, Record<string, unknown>>> = {
    conversation_updated: {
      ...ofConversation,
      lightConvoData: valuesOf(one),
      turns: [{ role: 'user', text: `turn ${one.version}` }],
    },
    message_received: { ...ofConversation, messageContent: 'hello' },
    form_submitted: { ...ofConversation, formType: 'ui_engine_form', formData: { question: `${one.version}` } },
    no_such_type: { convoId: one.id, createdAt },
  }
  const ofResource = {
    createdAt,
    ...(type.startsWith('agent') ? { agentId: name, agentName: `${one.version}` } : { organisationId: name }),
    ...(type.startsWith('client') && { clientId: one.id, clientName: `${one.version}` }),
  }
  return eventOf(type, payloads[type] ?? ofResource)
}

/** A page that was requested by ids, some of which are missing in its answer. */
function landExport({ landing }: Workspace, { records, missing, minute }: Omit<ValueOf<'export'>, 'workspace'>) {
  const returned = new Set(records.map(one => one.id))
  const absent = missing.filter(name => !returned.has(name))
  return landConversations(landing, {
    records: records.map(one => ({ ID: one.id, ...valuesOf(one) })),
    sentAtMs: SENT_AT_MS + minute * MINUTE,
    // As many as were requested, of which the missing ones were not scanned: they are gone.
    facts: { missing: absent, limit: records.length + absent.length, scanned: records.length },
  })
}

interface Scene {
  workspaces: readonly Workspace[]
  copies: readonly Copy[]
}

const sentAt = (minute: number) => ({ sentAtMs: SENT_AT_MS + minute * MINUTE })

async function perform({ workspaces, copies }: Scene, { name, of }: Operation): Promise<void> {
  const { writer } = app.warehouse
  switch (name) {
    case 'export':
      await workspaces[of.workspace]!.load(await landExport(workspaces[of.workspace]!, of))
      return
    case 'events':
      await applyTo(workspaces[of.workspace]!, ...of.events.map(eventFor))
      return
    case 'agents': {
      const agents = of.agents.map(agent => ({ ID: agent, title: `${agent} ${of.minute}` }))
      const { landing, load } = workspaces[of.workspace]!
      await load(await landAgents(landing, { agents, lastPage: of.isLast, ...sentAt(of.minute) }))
      return
    }
    case 'organization': {
      const { landing, load } = workspaces[of.workspace]!
      const data = of.found ? { ID: of.other, name: `${of.minute}` } : null
      await load(await landOrganization(landing, { id: of.other, data, ...sentAt(of.minute) }))
      return
    }
    case 'teams': {
      const { landing, load } = workspaces[of.workspace]!
      const teams = of.teams.map(team => ({ ID: `${of.other} ${team}`, orgId: of.other, key: team }))
      await load(await landTeams(landing, { id: of.other, teams, ...sentAt(of.minute) }))
      return
    }
    case 'retry': {
      const place = workspaces[of.workspace]!
      if (of.isEvent) {
        const event = eventFor({ type: 'conversation_updated', record: of.record, other: 'one' })
        await retryEvent(place.context, event, event.file)
      } else {
        const page = await landExport(place, { records: [of.record], missing: [], minute: 1 })
        await retryQuarantined(place.context, page, [1])
      }
      return
    }
    case 'erase': {
      const records = [
        { table: 'conversations', key: [AGENT, of.id] },
        { table: 'agents', key: [of.other] },
      ]
      await eraseRecords(writer, { workspaceId: workspaces[of.workspace]!.id, records, nowMs: SENT_AT_MS })
      return
    }
    case 'timeZone': {
      const { context } = workspaces[of.workspace]!
      context.timeZone = of.zone
      await applyTimeZone(writer, context.workspaceId, of.zone)
      return
    }
    case 'step': {
      const copy = copies[of.copy]!
      await copy.apply(of.limit ?? undefined)
      if (of.acknowledges) await acknowledge(writer, copy.name, copy.watermark!)
      return
    }
    case 'trim':
      await trimChanges(writer, of.all ? { maxAgeMs: -1 } : {})
      return
    case 'again':
      await removeConsumer(writer, copies[of.copy]!.name)
      await registerConsumer(writer, copies[of.copy]!.name)
  }
}

const histories = fc.array(operation, { minLength: 4, maxLength: 12 })

let opened = 0

/** Two empty copies that are registered as consumers. */
async function openCopies(): Promise<Copy[]> {
  const copies: Copy[] = []
  for (const by of ['key', 'partition'] as const) {
    opened += 1
    const copy = await openCopy(app.warehouse, `copy_${opened}`, by)
    await registerConsumer(app.warehouse.writer, copy.name)
    copies.push(copy)
  }
  return copies
}

afterEach(async () => {
  for (const { name } of await consumers(app.warehouse.writer)) await removeConsumer(app.warehouse.writer, name)
})

const ofVersion = (id: string, version: number, month: 0 | 1 | 2 | null): ValueOf<'retry'>['record'] => ({
  ...{ id, version, month },
  ...{ hasModified: true, tags: ['a'] },
})

type EventName = ValueOf<'events'>['events'][number]['type']

const eventsOf = (...types: EventName[]): Operation => ({
  name: 'events',
  of: { workspace: 0, events: types.map(type => ({ type, record: ofVersion('c2', 6, 1), other: 'two' })) },
})

const exportOf = (minute: number, records: ValueOf<'export'>['records'], missing: string[] = []): Operation => ({
  name: 'export',
  of: { workspace: 0, records, missing, minute },
})

/** One operation for each way in which a published row changes. */
const KINDS: Record<string, Operation> = {
  'a new record': exportOf(2, [ofVersion('c3', 1, null)]),
  'a record of another month': exportOf(3, [ofVersion('c0', 3, 2)]),
  'a superseded record': exportOf(4, [ofVersion('c0', 2, 0)]),
  'an observation alone': exportOf(1, [ofVersion('c0', 1, 0)]),
  'an unanswered id': exportOf(5, [], ['c1']),
  'a listing without an agent': { name: 'agents', of: { workspace: 0, agents: ['one'], isLast: true, minute: 6 } },
  'a gone organization, with its teams': {
    name: 'organization',
    of: { workspace: 0, other: 'one', found: false, minute: 7 },
  },
  'a mark by an event': eventsOf('message_received'),
  'a patch by an event': eventsOf('conversation_updated'),
  'an event with child rows': eventsOf('form_submitted'),
  'an event of a resource': eventsOf('agent_deleted'),
  'an event of a parent resource': eventsOf('organisation_deleted', 'client_created'),
  'an event of an unknown type': eventsOf('no_such_type'),
  'a retried record': { name: 'retry', of: { workspace: 0, record: ofVersion('c4', 1, 1), isEvent: false } },
  'a retried event': { name: 'retry', of: { workspace: 0, record: ofVersion('c5', 1, 1), isEvent: true } },
  'an erasure': { name: 'erase', of: { workspace: 0, id: 'c0', other: 'one' } },
  'a changed time zone': { name: 'timeZone', of: { workspace: 0, zone: 'Pacific/Auckland' } },
}

describe('a copy to which the changes are applied', () => {
  it('equals the live tables after every kind of change', async () => {
    const copies = await openCopies()
    const scene = { workspaces: [app.workspace()], copies }
    const stored: Operation[] = [
      exportOf(1, [ofVersion('c0', 2, 0), ofVersion('c1', 1, 1), ofVersion('c2', 1, 1)]),
      { name: 'agents', of: { workspace: 0, agents: ['one', 'two'], isLast: true, minute: 1 } },
      { name: 'organization', of: { workspace: 0, other: 'one', found: true, minute: 1 } },
      { name: 'teams', of: { workspace: 0, other: 'one', teams: ['t1', 't2'], minute: 1 } },
    ]
    for (const one of stored) await perform(scene, one)
    for (const copy of copies) await copy.apply()
    let before = await copies[0]!.sums()
    for (const [kind, one] of Object.entries(KINDS)) {
      await perform(scene, one)
      const live = await copies[0]!.sums('live')
      expect(live, `${kind} changes something`).not.toEqual(before)
      for (const copy of copies) {
        await copy.apply()
        expect(await copy.sums(), kind).toEqual(live)
      }
      before = live
    }
    for (const copy of copies) await copy.close()
  })

  it('equals the live tables, from any point and in any number of steps', async () => {
    await fc.assert(
      fc.asyncProperty(histories, histories, async (before, after) => {
        const copies = await openCopies()
        const scene = { workspaces: [app.workspace(), app.workspace()], copies }
        try {
          for (const one of before) await perform(scene, one)
          for (const copy of copies) await copy.apply()
          for (const one of after) await perform(scene, one)
          for (const copy of copies) {
            await copy.apply()
            expect(await copy.sums()).toEqual(await copy.sums('live'))
          }
        } finally {
          for (const copy of copies) await copy.close()
        }
      }),
      { numRuns: rounds('COPY_RUNS', { usual: 1, deep: 500 }), endOnFailure: true },
    )
  })
})
