import { describe, expect, it } from 'vitest'
import { DAY, HOUR } from '../../../src/core/time.ts'
import { dirtyIds, measuredRefreshes } from '../../../src/warehouse/planning/refresh.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, freshWindow, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const WRITTEN = SENT_AT_MS - 12 * HOUR
const CHANGED = SENT_AT_MS + 6 * HOUR
const LATER = SENT_AT_MS + 48 * HOUR
const NOW = { nowMs: LATER + HOUR, quietMs: DAY }

type Json = Record<string, unknown>

const exported = (ID: string, more: Json = {}): Json => ({
  ...{ ID, lastModified: WRITTEN, lastMessageTS: WRITTEN, sessionsNum: 2 },
  ...{ lastViewed: WRITTEN, summary: 'A question about an invoice', metrics: [{ key: 'sentiment', value: 1 }] },
  ...more,
})

const resolved = (convoId: string) =>
  eventOf('conversation_updated', {
    ...{ agentId: AGENT, convoId, createdAt: CHANGED, operation: 'updated' },
    lightConvoData: { isResolved: true, lastModified: CHANGED, lastMessageTS: WRITTEN },
  })

/** Returns the page of a refresh that was not caused by a new message. */
const refreshOf = ({ landing }: Workspace, records: Json[], known = records.map(({ ID }) => ID as string)) => {
  const ids = records.map(({ ID }) => ID as string)
  const window = freshWindow({ kind: 'refresh', toSec: 0, openedAtMs: LATER, ids, known })
  return landConversations(landing, { records, sentAtMs: LATER, window })
}

const measured = ({ id }: Workspace) => measuredRefreshes(app.warehouse.writer, id, NOW)

describe('a refresh without a new message', () => {
  it('finds a change only in what neither the export before nor events had, and in no field that nobody analyzes', async () => {
    const workspace = app.workspace()
    const ids = ['same', 'viewed', 'resolved', 'scored', 'summarized', 'gained']
    await workspace.load(await landConversations(workspace.landing, { records: ids.map(id => exported(id)) }))
    await applyTo(workspace, ...ids.map(resolved))
    const after = { isResolved: true, lastModified: CHANGED }
    const found = await refreshOf(workspace, [
      exported('same', { lastModified: CHANGED }),
      exported('viewed', { ...after, lastViewed: LATER, isTyping: true, pendingAiReplyAt: LATER }),
      exported('resolved', after),
      exported('scored', { ...after, metrics: [{ key: 'sentiment', value: 2 }] }),
      exported('summarized', { ...after, summary: 'Solved' }),
      exported('gained', { ...after, hotScore: 3 }),
    ])
    await workspace.load(found)
    await applyTo(workspace, resolved('next'))
    expect(await workspace.rows('_measured_refreshes', 'conversation_id AS id, changed')).toEqual([
      { id: 'gained', changed: ['hotScore', 'isResolved'] },
      { id: 'resolved', changed: ['isResolved'] },
      { id: 'same', changed: [] },
      { id: 'scored', changed: ['isResolved', 'metrics'] },
      { id: 'summarized', changed: ['isResolved', 'summary'] },
      { id: 'viewed', changed: ['isResolved'] },
    ])
    expect(await measured(workspace)).toEqual({ measured: 6, changed: 3, skips: false, savedSessions: 0 })
  })

  it('is measured alike if its page is loaded together with the export before, and if events come last', async () => {
    const workspace = app.workspace()
    const before = await landConversations(workspace.landing, { records: [exported('a'), exported('b')] })
    const records = [exported('a', { isResolved: true }), exported('b', { summary: 'Solved' }), exported('c')]
    await workspace.load(before, await refreshOf(workspace, records, ['a', 'b']))
    expect(await measured(workspace)).toBe(null)
    await applyTo(workspace, resolved('d'))
    expect(await measured(workspace)).toMatchObject({ measured: 2, changed: 1 })
  })

  it('is skipped once fifty have found nothing, except for one in twenty, and saves the sessions of the others', async () => {
    const workspace = app.workspace()
    const ids = Array.from({ length: 50 }, (_, index) => `measured-${index}`)
    await workspace.load(await landConversations(workspace.landing, { records: ids.map(id => exported(id)) }))
    await workspace.load(
      await refreshOf(
        workspace,
        ids.map(id => exported(id)),
      ),
    )

    const others = Array.from({ length: 400 }, (_, index) => `other-${index}`)
    await workspace.load(await landConversations(workspace.landing, { records: others.map(id => exported(id)) }))
    await applyTo(workspace, ...others.map(resolved))
    expect(await measured(workspace)).toMatchObject({ skips: true, savedSessions: 760 })
    const due = async (knownOneIn: number) =>
      dirtyIds(app.warehouse.writer, workspace.id, { beforeMs: LATER, skipKnown: false, knownOneIn, limit: 5_000 })
    expect(await due(1)).toHaveLength(400)
    const drawn = await due(20)
    expect(drawn.length).toBeGreaterThan(8)
    expect(drawn.length).toBeLessThan(40)
    expect(await due(20)).toEqual(drawn)
  })
})
