import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../src/core/time.ts'
import { activeConversations } from '../../../src/warehouse/planning/refresh.ts'
import { applyTo, eventOf } from '../events/events-in.ts'
import { AGENT, freshWindow, landConversations, SENT_AT_MS } from '../landed-pages.ts'
import { temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()
const NOW = SENT_AT_MS

const updated = (convoId: string, { minutesAgo, ...light }: { minutesAgo: number } & Record<string, unknown>) =>
  eventOf('conversation_updated', {
    ...{ agentId: AGENT, convoId, createdAt: NOW - minutesAgo * MINUTE, operation: 'updated' },
    lightConvoData: light,
  })

describe('a conversation that no export has returned', () => {
  it('is active within an hour of its last change and six hours of its beginning, no matter what ts means', async () => {
    const workspace = app.workspace()
    const [soon, long] = [NOW - 2 * HOUR, NOW - 7 * HOUR]
    await applyTo(
      workspace,
      updated('active', { minutesAgo: 59, ts: soon, firstMessageTS: soon }),
      updated('quiet', { minutesAgo: 61, ts: NOW - 3 * HOUR }),
      updated('long', { minutesAgo: 5, ts: long }),
      updated('long, by its last activity', { minutesAgo: 5, ts: NOW - 5 * MINUTE, firstMessageTS: long }),
      updated('by its last activity', { minutesAgo: 5, ts: NOW - 5 * MINUTE, firstMessageTS: soon }),
      updated('without a time', { minutesAgo: 5 }),
    )
    const active = () => activeConversations(app.warehouse.writer, workspace.id, NOW)
    expect(await active()).toEqual([{ agentId: AGENT, sinceSec: soon / 1_000, conversations: 2 }])
    // A window has passed the first conversation: it was skipped because no person had written, and delays nothing.
    const window = freshWindow({ toSec: soon / 1_000 })
    await workspace.load(await landConversations(workspace.landing, { records: [], window }))
    expect(await active()).toEqual([{ agentId: AGENT, sinceSec: (NOW - 5 * MINUTE) / 1_000, conversations: 1 }])
    const records = [{ ID: 'by its last activity', ts: NOW - 5 * MINUTE, lastModified: NOW }]
    await workspace.load(
      await landConversations(workspace.landing, { records, window: freshWindow({ kind: 'selected', ids: [] }) }),
    )
    expect(await active()).toEqual([])
  })
})
