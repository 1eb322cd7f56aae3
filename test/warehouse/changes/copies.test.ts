// A copy to which the changes of the log are applied equals the live tables after every kind of change.
import { afterEach, expect, it } from 'vitest'
import { DAY, MINUTE } from '../../../src/core/time.ts'
import { consumers, registerConsumer, removeConsumer } from '../../../src/warehouse/changes/consumers.ts'
import { recordChecks } from '../../../src/warehouse/checks/all-checks.ts'
import { retryEvent } from '../../../src/warehouse/events/apply.ts'
import { applyTimeZone } from '../../../src/warehouse/load/time-zone.ts'
import { eraseRecords } from '../../../src/warehouse/maintenance/erase-records.ts'
import { retryQuarantined } from '../../../src/warehouse/maintenance/quarantine-retry.ts'
import { isDeep } from '../../tier.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, landAgents, landConversations, landOrganization, landTeams, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'
import { openCopy } from './copies.ts'

const app = temporaryWarehouse()

const changedMs = (version: number): number => SENT_AT_MS - DAY + version * MINUTE

/** Returns the fields of a conversation at a version, with a `ts` in a month or without one. */
const valuesOf = (version: number, month: 0 | 1 | 2 | null) => ({
  state: `state ${version}`,
  tags: ['a'],
  lastModified: changedMs(version),
  ...(month !== null && { ts: Date.UTC(2026, month, 1 + version, 18) }),
})

const conversation = (ID: string, version: number, month: 0 | 1 | 2 | null) => ({ ID, ...valuesOf(version, month) })

const sentAt = (minute: number) => ({ sentAtMs: SENT_AT_MS + minute * MINUTE })

type Change = (workspace: Workspace) => Promise<unknown>

/** Lands a page requested by ids; the missing ones are gone, since they were not scanned. */
const exported =
  (minute: number, records: object[], missing: string[] = []): Change =>
  async ({ landing, load }) => {
    const facts = { missing, limit: records.length + missing.length, scanned: records.length }
    await load(await landConversations(landing, { records, facts, ...sentAt(minute) }))
  }

const agents =
  (minute: number, ...ids: string[]): Change =>
  async ({ landing, load }) =>
    load(await landAgents(landing, { agents: ids.map(ID => ({ ID, title: `${ID} ${minute}` })), ...sentAt(minute) }))

const organization =
  (minute: number, data: object | null): Change =>
  async ({ landing, load }) =>
    load(await landOrganization(landing, { id: 'one', data, ...sentAt(minute) }))

const teams: Change = async ({ landing, load }) => {
  const own = ['t1', 't2'].map(ID => ({ ID, orgId: 'one', key: ID }))
  await load(await landTeams(landing, { id: 'one', teams: own, ...sentAt(1) }))
}

const createdAt = changedMs(6)
const ofConversation = { agentId: AGENT, convoId: 'c2', createdAt }
const updated = (convoId: string, version: number) =>
  eventOf('conversation_updated', {
    ...{ ...ofConversation, convoId, createdAt: changedMs(version), lightConvoData: valuesOf(version, 1) },
    turns: [{ role: 'user', text: `turn ${version}` }],
  })

const events =
  (...all: ReturnType<typeof eventOf>[]): Change =>
  workspace =>
    applyTo(workspace, ...all)

/** One change for each way in which a published row may change. */
const KINDS: Record<string, Change> = {
  'a new record': exported(2, [conversation('c3', 1, null)]),
  'a record of another month': exported(3, [conversation('c0', 3, 2)]),
  'a superseded record': exported(4, [conversation('c0', 2, 0)]),
  'an observation alone': exported(1, [conversation('c0', 1, 0)]),
  'an unanswered id': exported(5, [], ['c1']),
  'a listing without an agent': agents(6, 'one'),
  'a gone organization, with its teams': organization(7, null),
  'a mark by an event': events(eventOf('message_received', { ...ofConversation, messageContent: 'hello' })),
  'a patch by an event': events(updated('c2', 6)),
  'an event with child rows': events(
    eventOf('form_submitted', { ...ofConversation, formType: 'ui_engine_form', formData: { question: '6' } }),
  ),
  'an event of a resource': events(eventOf('agent_deleted', { agentId: 'two', agentName: '6', createdAt })),
  'an event of a parent resource': events(
    eventOf('organisation_deleted', { organisationId: 'two', createdAt }),
    eventOf('client_created', { organisationId: 'two', clientId: 'c2', clientName: '6', createdAt }),
  ),
  'an event of an unknown type': events(eventOf('no_such_type', { convoId: 'c2', createdAt })),
  'a retried record': async workspace => {
    const page = await landConversations(workspace.landing, { records: [conversation('c4', 1, 1)], ...sentAt(1) })
    await retryQuarantined(workspace.context, page, [1])
  },
  'a retried event': workspace => {
    const event = updated('c5', 1)
    return retryEvent(workspace.context, event, event.file)
  },
  'an erasure': ({ id }) => {
    const keys = { conversations: [AGENT, 'c0'], agents: ['one'] }
    const records = Object.entries(keys).map(([table, key]) => ({ table, key }))
    return eraseRecords(app.warehouse.writer, { workspaceId: id, records, nowMs: SENT_AT_MS })
  },
  'a changed time zone': ({ id, context }) => {
    context.timeZone = 'Pacific/Auckland'
    return applyTimeZone(app.warehouse.writer, id, context.timeZone)
  },
}

afterEach(async () => {
  for (const { name } of await consumers(app.warehouse.writer)) await removeConsumer(app.warehouse.writer, name)
})

it('a copy equals the live tables after every kind of change, by key and by partition', async () => {
  const copies = []
  for (const by of ['key', 'partition'] as const) {
    await registerConsumer(app.warehouse.writer, `by_${by}`)
    copies.push(await openCopy(app.warehouse, `by_${by}`, by))
  }
  const workspace = app.workspace()
  const stored = exported(1, [conversation('c0', 2, 0), conversation('c1', 1, 1), conversation('c2', 1, 1)])
  for (const change of [stored, agents(1, 'one', 'two'), organization(1, { ID: 'one', name: '1' }), teams])
    await change(workspace)
  for (const copy of copies) await copy.apply()
  let before = await copies[0]!.sums()
  // By default several kinds at once: comparing all tables takes most of the time.
  const kinds = Object.keys(KINDS)
  const atOnce = isDeep ? 1 : 9
  for (let first = 0; first < kinds.length; first += atOnce) {
    const some = kinds.slice(first, first + atOnce)
    for (const kind of some) await KINDS[kind]!(workspace)
    const live = await copies[0]!.sums('live')
    expect(live, `${some} change something`).not.toEqual(before)
    for (const copy of copies) {
      await copy.apply()
      expect(await copy.sums(), some.join()).toEqual(live)
    }
    before = live
  }
  for (const copy of copies) await copy.close()
  for (const { name, sql } of recordChecks()) expect(await app.warehouse.writer.rows(sql), name).toEqual([])
})
