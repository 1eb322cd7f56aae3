// Exports and events yield the same tables whether they arrive in any order with repetitions, or in order and once.
// Cases of the corpus test the same in each run: `changes-arriving-backwards`, `converging`, `patches-in-any-order`.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { MINUTE } from '../../../src/core/time.ts'
import { recordChecks } from '../../../src/warehouse/checks/all-checks.ts'
import type { SpooledEvent } from '../../../src/warehouse/events/incoming.ts'
import { isDeep, rounds } from '../../tier.ts'
import { AGENT, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { MIRROR_LAG_MS, temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'
import { applyTo, eventOf } from './events-in.ts'

const app = temporaryWarehouse()

const KEYS = ['state', 'tags', 'unheard', 'userPlatform'] as const

/** A message about a conversation: its state at `version`, from an export or an event. */
interface Message {
  by: 'export' | 'update' | 'message'
  version: number
  /** Fields that an update contains. */
  keys: readonly string[]
  turns: boolean
  channel: boolean
  hasModified: boolean
  /** Delay of its arrival. */
  lateMs: number
}

const message = fc.record({
  by: fc.constantFrom('export', 'update', 'update', 'message'),
  version: fc.integer({ min: 1, max: 6 }),
  keys: fc.subarray([...KEYS]),
  turns: fc.boolean(),
  channel: fc.boolean(),
  hasModified: fc.boolean(),
  lateMs: fc.constantFrom(0, 1, MINUTE, 3 * MINUTE),
}) as fc.Arbitrary<Message>

/** Returns the time at which the conversation reached that version. */
const changedMs = (version: number): number => SENT_AT_MS + version * MINUTE

const valuesAt = (version: number): Record<string, unknown> => ({
  state: `state ${version}`,
  tags: [`tag ${version}`],
  unheard: { of: version },
  userPlatform: `platform-${version}`,
})

const nameOf = (id: number): string => `c${id}`

function eventFor(one: Message, id: number): SpooledEvent {
  const { version, keys, turns, channel, hasModified, lateMs } = one
  const createdAt = changedMs(version)
  const common = {
    agentId: AGENT,
    convoId: nameOf(id),
    createdAt,
    ...(channel && { channel: `channel-${version}` }),
  }
  const receivedAtMs = createdAt + lateMs
  if (one.by === 'message') return eventOf('message_received', { ...common, messageContent: 'hello' }, { receivedAtMs })
  const values = Object.fromEntries(keys.map(key => [key, valuesAt(version)[key]]))
  const light = { ...values, ...(hasModified && { lastModified: createdAt }) }
  const spoken = turns ? { turns: [{ role: 'user', text: `turn ${version}` }] } : {}
  return eventOf('conversation_updated', { ...common, lightConvoData: light, ...spoken }, { receivedAtMs })
}

/** Lands an export that was requested once the mirror had the version, with `lateMs` in addition; no two exports at the same time. */
function landExport(workspace: Workspace, { version, lateMs, id, place, hasModified }: Delivery) {
  const records = [{ ID: nameOf(id), ...(hasModified && { lastModified: changedMs(version) }), ...valuesAt(version) }]
  const sentAtMs = changedMs(version) + lateMs + MIRROR_LAG_MS + 10 * place + id
  return landConversations(workspace.landing, { records, sentAtMs })
}

interface Delivery extends Message {
  id: number
  place: number
}

/** Delivers six messages at a time: loads the exports among them as pages of one load, then applies the events. */
async function deliver(workspace: Workspace, deliveries: readonly Delivery[]): Promise<void> {
  for (let first = 0; first < deliveries.length; first += 6) {
    const batch = deliveries.slice(first, first + 6)
    const exports = batch.filter(delivery => delivery.by === 'export')
    const events = batch.filter(delivery => delivery.by !== 'export')
    const pages = await Promise.all(exports.map(delivery => landExport(workspace, delivery)))
    if (pages.length > 0) await workspace.load(...pages)
    if (events.length > 0) await applyTo(workspace, ...events.map(delivery => eventFor(delivery, delivery.id)))
  }
}

const TABLES: Record<string, string> = {
  conversations: `conversation_id, state, user_platform, channel, extra::VARCHAR AS extra, epoch_ms(last_modified) AS modified, _complete, _source,
    epoch_ms(_as_of) AS as_of, epoch_ms(_version) AS version, epoch_ms(_dirty_since) AS dirty`,
  conversation_tags: 'conversation_id, position, tag',
  conversation_turns: 'conversation_id, position, text',
  conversation_transcripts: 'conversation_id, epoch_ms(_version) AS version',
  conversation_patches: 'conversation_id, key, value::VARCHAR AS value',
  conversation_observations: 'conversation_id, source, epoch_ms(version) AS version, state',
  webhook_events: 'event_id, type',
  messages_received: 'event_id, conversation_id',
}

async function tablesOf(workspace: Workspace) {
  const tables: Record<string, unknown> = {}
  for (const [table, what] of Object.entries(TABLES)) tables[table] = await workspace.rows(table, `DISTINCT ${what}`)
  return tables
}

const histories = fc.array(
  fc.uniqueArray(message, { selector: one => `${one.by} ${one.version}`, minLength: 1, maxLength: 5 }),
  { minLength: 12, maxLength: 12 },
)

/**
 * Exports with `lastModified` are ordered by it, all others by the time when they were sent. If an older state is
 * exported after a newer one, these two orders contradict each other, so a history with both kinds has no late exports.
 */
const inOneOrder = (history: readonly Message[]): readonly Message[] => {
  const isMixed = new Set(history.filter(({ by }) => by === 'export').map(({ hasModified }) => hasModified)).size > 1
  return isMixed ? history.map(one => (one.by === 'export' ? { ...one, lateMs: 0 } : one)) : history
}

const scrambled = histories.chain(conversations => {
  const deliveries = conversations.flatMap((history, id) =>
    inOneOrder(history).map((one, place): Delivery => ({ ...one, id, place })),
  )
  const again = fc.subarray(deliveries)
  return fc.record({
    inOrder: fc.constant([...deliveries].sort((a, b) => a.version - b.version || a.id - b.id || a.place - b.place)),
    scrambled: again.chain(twice =>
      fc.shuffledSubarray([...deliveries, ...twice], {
        minLength: deliveries.length + twice.length,
        maxLength: deliveries.length + twice.length,
      }),
    ),
  })
})

it.runIf(isDeep)('exports and events converge, in any order and any number of times', async () => {
  await fc.assert(
    fc.asyncProperty(scrambled, async ({ inOrder, scrambled }) => {
      const [once, often] = [app.workspace(), app.workspace()]
      await deliver(once, inOrder)
      await deliver(often, scrambled)
      expect(await tablesOf(often)).toEqual(await tablesOf(once))
      for (const { name, sql } of recordChecks()) expect(await app.warehouse.writer.rows(sql), name).toEqual([])
    }),
    { numRuns: rounds('FAULT_RUNS', { usual: 1, deep: 40 }), endOnFailure: true },
  )
})

/** A step of a history in which neither times nor `lastModified` have to agree, as with a mirror that lags for hours. */
interface Step {
  by: 'export' | 'event'
  /** Minute at which the export was sent, or the event happened. */
  minute: number
  /** Age of the carried `lastModified`, minutes; null if it is not carried. */
  age: number | null
}

const step = fc.record({
  by: fc.constantFrom('export', 'event'),
  minute: fc.integer({ min: 10, max: 60 }),
  age: fc.option(fc.constantFrom(0, 1, 5, 20), { nil: null }),
}) as fc.Arbitrary<Step>

const stepValues = (at: number) => ({ state: `state ${at}`, tags: [`tag ${at}`] })

async function deliverSteps(
  workspace: Workspace,
  steps: readonly (Step & { at: number; id: string })[],
  live: boolean,
) {
  const timeOf = ({ minute, age }: Step) => (age === null ? {} : { lastModified: changedMs(minute - age) })
  const load = async (exports: readonly (Step & { at: number; id: string })[]) => {
    const pages = await Promise.all(
      exports.map(one =>
        landConversations(workspace.landing, {
          records: [{ ID: one.id, ...timeOf(one), ...stepValues(one.at) }],
          sentAtMs: changedMs(one.minute) + MIRROR_LAG_MS + one.at,
        }),
      ),
    )
    if (pages.length > 0) await workspace.load(...pages)
  }
  const apply = async (events: readonly (Step & { at: number; id: string })[]) => {
    const sent = events.map(one =>
      eventOf(
        'conversation_updated',
        {
          agentId: AGENT,
          convoId: one.id,
          createdAt: changedMs(one.minute),
          lightConvoData: { ...timeOf(one), ...stepValues(one.at) },
        },
        { receivedAtMs: changedMs(one.minute) },
      ),
    )
    if (sent.length > 0) await applyTo(workspace, ...sent)
  }
  if (live) for (const one of steps) await (one.by === 'export' ? load([one]) : apply([one]))
  else {
    await load(steps.filter(({ by }) => by === 'export'))
    await apply(steps.filter(({ by }) => by === 'event'))
  }
}

/** Expects the same rows live, in the order of the steps, and from a replay, which loads all exports and then applies all events. */
async function expectReplayEqual(histories: readonly (readonly Step[])[]): Promise<void> {
  const steps = histories.flatMap((history, id) => history.map((one, place) => ({ ...one, at: place, id: nameOf(id) })))
  const [live, replayed] = [app.workspace(), app.workspace()]
  await deliverSteps(live, steps, true)
  await deliverSteps(replayed, steps, false)
  const [then, now] = [await tablesOf(live), await tablesOf(replayed)]
  const shown = 'the history of the conversation is in the list'
  expect(now, shown).toEqual(then)
}

const OLDER_EVENT_AND_UNDATED_EXPORT: Step[] = [
  { by: 'export', minute: 20, age: 5 },
  { by: 'event', minute: 30, age: 20 },
  { by: 'export', minute: 25, age: null },
]

it('a replay equals the live tables: an event after the export with an older `lastModified`, then an export without one', () =>
  expectReplayEqual([
    OLDER_EVENT_AND_UNDATED_EXPORT,
    [
      { by: 'export', minute: 10, age: null },
      { by: 'export', minute: 20, age: 0 },
      { by: 'export', minute: 40, age: 35 },
    ],
  ]))

it.runIf(isDeep)(
  'a replay equals the live tables, whatever the vendor says of its times',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 2, maxLength: 6 }), { minLength: 12, maxLength: 12 }),
        histories =>
          // Exports are loaded in the order in which they were sent; events arrive in any order.
          expectReplayEqual(histories.map(inOrderOfExports)),
      ),
      { numRuns: rounds('FAULT_RUNS', { usual: 1, deep: 40 }), endOnFailure: true },
    )
  },
  1_200_000,
)

function inOrderOfExports(history: readonly Step[]): Step[] {
  const minutes = history
    .filter(({ by }) => by === 'export')
    .map(({ minute }) => minute)
    .sort((a, b) => a - b)
  return history.map(one => (one.by === 'export' ? { ...one, minute: minutes.shift()! } : one))
}
