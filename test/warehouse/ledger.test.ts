import { describe, expect, it } from 'vitest'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { layoutOf } from '../../src/catalog/layout.ts'
import type { WindowKind } from '../../src/core/planning/windows.ts'
import { applyPatches } from '../../src/warehouse/events/patches.ts'
import { AGENT, freshWindow, landConversations } from './landed-pages.ts'
import { LOADED_AT_MS, temporaryWarehouse, type Workspace } from './temporary-warehouse.ts'

const app = temporaryWarehouse()

const HOUR = 3_600
const DAY = 24 * HOUR
/** Midnight of 2026-11-10, UTC, in seconds. */
const MIDNIGHT = Date.UTC(2026, 10, 10) / 1_000

interface Page {
  kind?: WindowKind
  fromSec?: number | null
  toSec?: number
  /** `ts` of its records, in seconds; null: a record without `ts`. */
  at?: readonly (number | null)[]
  skipped?: number
  hasMore?: boolean
  openedAt?: number
}

let records = 0

/** Loads a window of one page, opened at `openedAt` seconds and requested one second later. */
async function read(workspace: Workspace, page: Page): Promise<void> {
  const {
    kind = 'head',
    fromSec = MIDNIGHT,
    toSec = MIDNIGHT + HOUR,
    at = [],
    skipped = 0,
    openedAt = toSec + 60,
  } = page
  const window = freshWindow({ kind, fromSec, toSec, openedAtMs: openedAt * 1_000 })
  await workspace.load(
    await landConversations(workspace.landing, {
      window,
      sentAtMs: (openedAt + 1) * 1_000,
      records: at.map(second => ({ ID: `c${++records}`, ...(second !== null && { ts: second * 1_000 }) })),
      facts: { scanned: at.length + skipped, hasMore: page.hasMore ?? false, cursorOut: page.hasMore ? 'more' : null },
    }),
  )
}

const ledger = (workspace: Workspace, what: string) =>
  app.warehouse.writer.rows(
    `SELECT ${what} FROM _ledger WHERE workspace_id = '${workspace.id}' ORDER BY day NULLS LAST`,
  )

const skippedIn = async (workspace: Workspace): Promise<number> => (await total(workspace))[0]!.n

const total = (workspace: Workspace) =>
  app.warehouse.writer.rows<{ n: number; behind: number }>(
    `SELECT coalesce(sum(skipped), 0)::INTEGER AS n, coalesce(sum(hidden_behind), 0)::INTEGER AS behind FROM _ledger WHERE workspace_id = '${workspace.id}'`,
  )

describe('the view _ledger', () => {
  it('counts skipped conversations by the newest finished reading of their range', async () => {
    const workspace = app.workspace()
    const range = { fromSec: MIDNIGHT, toSec: MIDNIGHT + HOUR }
    await read(workspace, { ...range, skipped: 5 })
    await read(workspace, { ...range, fromSec: MIDNIGHT + HOUR + 1, toSec: MIDNIGHT + 2 * HOUR, skipped: 7 })
    expect(await skippedIn(workspace)).toBe(12)
    // An unfinished window neither counts nor replaces earlier readings.
    await read(workspace, { ...range, kind: 'reread', openedAt: MIDNIGHT + DAY, skipped: 3, hasMore: true })
    expect(await skippedIn(workspace)).toBe(12)
    await read(workspace, { ...range, kind: 'reread', openedAt: MIDNIGHT + 2 * DAY, skipped: 2 })
    expect(await skippedIn(workspace)).toBe(9)
    // A reading that covers only a part of the first one.
    await read(workspace, {
      fromSec: MIDNIGHT + 1,
      toSec: MIDNIGHT + HOUR,
      kind: 'reread',
      openedAt: MIDNIGHT + 3 * DAY,
      skipped: 1,
    })
    expect(await skippedIn(workspace)).toBe(10)
    // A window that was opened earlier supersedes nothing.
    await read(workspace, { ...range, fromSec: null, kind: 'full', openedAt: MIDNIGHT + HOUR, skipped: 0 })
    expect(await skippedIn(workspace)).toBe(10)
    await read(workspace, {
      fromSec: null,
      toSec: MIDNIGHT + 5 * DAY,
      kind: 'full',
      openedAt: MIDNIGHT + 5 * DAY,
      skipped: 4,
    })
    expect(await skippedIn(workspace)).toBe(4)
  })

  it('ignores the readings of other agents and workspaces', async () => {
    const [one, other] = [app.workspace(), app.workspace()]
    await read(one, { skipped: 5 })
    await read(other, { kind: 'full', fromSec: null, openedAt: MIDNIGHT + DAY })
    expect(await skippedIn(one)).toBe(5)
    expect(await skippedIn(other)).toBe(0)
  })

  it('distinguishes rows that are incomplete, seen in events, stale or missing', async () => {
    const workspace = app.workspace()
    const { writer } = app.warehouse
    await read(workspace, { at: [MIDNIGHT, MIDNIGHT, MIDNIGHT, MIDNIGHT] })
    const [changed, stale, missing] = (await workspace.rows('conversations', 'conversation_id AS id')).map(({ id }) =>
      String(id),
    )
    const patch = (conversationId: string) => ({
      agentId: AGENT,
      conversationId,
      values: { state: 'ended_chat', ts: MIDNIGHT * 1_000 },
      modifiedMs: null,
      createdMs: (MIDNIGHT + DAY) * 1_000,
      orderedMs: (MIDNIGHT + DAY) * 1_000,
    })
    await writer.transaction(() =>
      applyPatches(writer, {
        layout: layoutOf(conversation),
        workspaceId: workspace.id,
        patches: [patch(changed!), patch('known-by-events')],
        nowMs: LOADED_AT_MS,
      }),
    )
    const mark = (column: string, id: string) =>
      writer.run(
        `UPDATE conversations SET ${column} = TIMESTAMPTZ '2026-11-20' WHERE workspace_id = '${workspace.id}' AND conversation_id = '${id}'`,
      )
    await mark('_dirty_since', stale!)
    await mark('_missing_since', missing!)
    expect(
      await ledger(
        workspace,
        `held::INTEGER AS held, incomplete::INTEGER AS incomplete, seen_in_events::INTEGER AS seen_in_events,
         known_stale::INTEGER AS known_stale, missing::INTEGER AS missing, scanned::INTEGER AS scanned`,
      ),
    ).toEqual([{ held: 4, incomplete: 1, seen_in_events: 2, known_stale: 1, missing: 1, scanned: 4 }])
  })
})
