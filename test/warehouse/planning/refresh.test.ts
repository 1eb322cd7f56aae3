import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/core/time.ts'
import type { SpooledEvent } from '../../../src/warehouse/events/incoming.ts'
import { agedIds, dirtyIds, lateRowsSeen } from '../../../src/warehouse/planning/refresh.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, freshWindow, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const WRITTEN = SENT_AT_MS - 12 * HOUR
const CHANGED = SENT_AT_MS + 6 * HOUR
const LATER = SENT_AT_MS + 48 * HOUR

/** Creates an event about a conversation. */
type EventFor = (convoId: string) => SpooledEvent

const updated =
  (createdAt: number, light: Record<string, unknown>): EventFor =>
  convoId =>
    eventOf('conversation_updated', { agentId: AGENT, convoId, createdAt, operation: 'updated', lightConvoData: light })

const resolved = (lastMessageTS: unknown = WRITTEN): EventFor =>
  updated(CHANGED, { isResolved: true, lastModified: CHANGED, lastMessageTS })

const question: EventFor = convoId =>
  eventOf('message_received', { agentId: AGENT, convoId, createdAt: CHANGED + MINUTE, messageContent: 'and now?' })

interface Case {
  /** Time of the last message in the exported record. */
  writtenMs?: number
  events: readonly EventFor[]
}

/** Returns ids of conversations to refresh: for any `change`, and only for a `message` that the events do not contain. */
async function refreshed(cases: Record<string, Case>): Promise<{ change: string[]; message: string[] }> {
  const workspace = app.workspace()
  const records = Object.entries(cases).map(([ID, { writtenMs = WRITTEN }]) => ({
    ID,
    lastModified: WRITTEN,
    lastMessageTS: writtenMs,
  }))
  await workspace.load(await landConversations(workspace.landing, { records, sentAtMs: SENT_AT_MS }))
  // Drains once for each position, so that the first event of each case is applied first.
  for (const place of [0, 1])
    await applyTo(workspace, ...Object.entries(cases).flatMap(([id, { events }]) => events[place]?.(id) ?? []))
  const ids = async (skipKnown: boolean) => {
    const found = await dirtyIds(app.warehouse.writer, workspace.id, { beforeMs: LATER, skipKnown, limit: 100 })
    return found.map(({ id }) => id).sort()
  }
  return { change: await ids(false), message: await ids(true) }
}

describe('a stored conversation that has changed', () => {
  it('is refreshed for any change, or only if a message was written that the copy may lack', async () => {
    const soon = SENT_AT_MS - 30 * MINUTE
    const exported = await refreshed({
      resolved: { events: [resolved()] },
      written: { events: [resolved(SENT_AT_MS + HOUR)] },
      'message alone': { events: [question] },
      'message behind it': { events: [resolved(), question] },
      'exported too soon': { writtenMs: soon, events: [resolved(soon)] },
    })
    const message = ['exported too soon', 'message alone', 'message behind it', 'written']
    expect(exported).toEqual({ change: [...message, 'resolved'].sort(), message })
  })

  it('is refreshed if the event does not say when the last message was written', async () => {
    const exported = await refreshed({
      nothing: { events: [updated(CHANGED, { isResolved: true, lastModified: CHANGED })] },
      null: { events: [resolved(null)] },
      nonsense: { events: [resolved('yesterday')] },
    })
    expect(exported.message).toEqual(['nonsense', 'nothing', 'null'])
  })

  it('is refreshed by its newest event, in any order of arrival', async () => {
    const note = { lastModified: CHANGED + HOUR, crmActivities: [] }
    const dated = updated(CHANGED + HOUR, { ...note, lastMessageTS: WRITTEN })
    const undated = updated(CHANGED + HOUR, note)
    const exported = await refreshed({
      'dated last': { events: [resolved(), dated] },
      'dated first': { events: [dated, resolved()] },
      'undated last': { events: [resolved(), undated] },
      'undated first': { events: [undated, resolved()] },
    })
    expect(exported.message).toEqual(['undated first', 'undated last'])
  })
})

describe('a lastModified', () => {
  it('in the future does not refresh its conversation forever', async () => {
    const workspace = app.workspace()
    const ts = SENT_AT_MS - 400 * DAY
    const aged = async (lastModified: number, sentAtMs: number) => {
      const records = [{ ID: 'c', lastModified, ts, lastMessageTS: ts }]
      await workspace.load(await landConversations(workspace.landing, { records, sentAtMs }))
      const options = { activeSinceMs: SENT_AT_MS - 7 * DAY, readBeforeMs: SENT_AT_MS + 2 * DAY }
      return agedIds(app.warehouse.writer, workspace.id, options)
    }
    expect(await aged(5e13, SENT_AT_MS)).toEqual([])
    // A read of a later day wins (ADR 3).
    expect(await aged(SENT_AT_MS - DAY, SENT_AT_MS + DAY)).toEqual([{ agentId: AGENT, id: 'c' }])
  })
})

describe('a conversation that was never exported', () => {
  it('is refreshed, with any events, once a head window has passed it', async () => {
    const workspace = app.workspace()
    await applyTo(workspace, resolved()('new'))
    const { writer } = app.warehouse
    const ids = () => dirtyIds(writer, workspace.id, { beforeMs: LATER, skipKnown: true, limit: 10 })
    expect(await ids()).toEqual([])
    const window = freshWindow({ toSec: Math.floor(LATER / 1_000) })
    await workspace.load(await landConversations(workspace.landing, { records: [], window }))
    expect(await ids()).toEqual([{ agentId: AGENT, id: 'new' }])
  })
})

describe('ranges that are read again at the same time', () => {
  /** True if rows count as late after this many conversations were skipped in a range that has three. */
  async function isLate(skipped: number): Promise<boolean> {
    const workspace = app.workspace()
    const begun = WRITTEN / 1_000
    const read = (from: number, had: number, seconds: readonly number[]) =>
      landConversations(workspace.landing, {
        records: seconds.map(second => ({ ID: `c${second}`, ts: WRITTEN + second * 1_000 })),
        window: freshWindow({ kind: 'reread', fromSec: begun + from, toSec: begun + from + 99, skipped: had }),
      })
    await workspace.load(await read(0, skipped, [10, 20, 30]), await read(100, 1, [110]))
    return lateRowsSeen(app.warehouse.writer, workspace.id, 0)
  }

  it('have found late rows only if one has found more than had been skipped in it', async () => {
    expect(await isLate(3)).toBe(false)
    expect(await isLate(2)).toBe(true)
  })
})
