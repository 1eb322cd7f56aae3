// Fills a landing with the sandbox's conversations, as a sync leaves it: pages of 100, inspected and compressed.

import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { compileInspection } from '../../src/catalog/inspection/inspect.ts'
import { CATALOG_VERSION } from '../../src/catalog/records.ts'
import { openWindow, type Window } from '../../src/core/planning/windows.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { PageHead } from '../../src/landing/page.ts'
import { createWorld } from '../../src/sandbox/world/world.ts'

export const PAGE = 100
const WORKSPACE = 'ws_bench'
/** Time of the export; the generated world ends then. */
export const EXPORTED_AT_MS = Date.UTC(2026, 10, 1)

export interface LandedExport {
  workspaceId: string
  records: number
  /** Page bodies as received. */
  bodies: Buffer[]
  /** The agent of each page. */
  agents: string[]
}

const inspect = compileInspection(conversation)

export interface ExportedPage {
  head: PageHead
  body: Buffer
}

/** Lands a page of a window as a sync does; its cursors continue those of the previous page. */
export function pageOf(
  texts: readonly string[],
  options: { window: Window; sequence: number; hasMore: boolean },
): ExportedPage {
  const { window, sequence, hasMore } = options
  const body = Buffer.from(
    `{"success":true,"message":"exported","data":[${texts.join(',')}],"hasMore":${hasMore},"nextCursor":null}`,
  )
  const { data } = JSON.parse(body.toString()) as { data: unknown[] }
  const facts = {
    window,
    generation: 1,
    sequence,
    limit: PAGE,
    atMs: 0,
    cursorIn: sequence > 1 ? `after-${sequence - 1}` : null,
    cursorOut: hasMore ? `after-${sequence}` : null,
    hasMore,
    returned: texts.length,
    scanned: texts.length,
    billed: texts.length,
    lastTsMs: window.openedAtMs,
    missing: [],
  }
  const head = {
    v: 1 as const,
    catalogVersion: CATALOG_VERSION,
    workspaceId: WORKSPACE,
    place: { stream: 'conversations' as const, agentId: window.agentId, window: window.name, generation: 1, sequence },
    run: 'bench',
    lease: null,
    request: { path: `/v3/agents/${window.agentId}/convos/export`, query: {} },
    status: 200,
    sentAtMs: window.openedAtMs,
    receivedAtMs: window.openedAtMs,
    sentAtServerMs: window.openedAtMs,
    bodyBytes: body.length,
    lastPage: !hasMore,
    facts,
    usage: null,
    rateLimit: null,
    notes: inspect(data),
  }
  return { head, body }
}

/** Lands `records` conversations of `agents` agents below `home`. */
export async function landExport(home: string, options: { records: number; agents: number }): Promise<LandedExport> {
  const nowMs = EXPORTED_AT_MS
  // Section 1.1: the export skips the 5 % of conversations in which no person has written; the loop below does too.
  const world = createWorld({
    agents: options.agents,
    conversations: Math.ceil(options.records * 1.1),
    startMs: nowMs,
    seed: 1,
  })
  const landing = openLanding(home).workspace(WORKSPACE)
  const bodies: Buffer[] = []
  const agents: string[] = []
  let left = options.records
  for (const agentId of world.agentIds()) {
    const window = openWindow({
      agentId,
      kind: 'tail',
      fromSec: null,
      toSec: Math.floor(nowMs / 1_000),
      openedAtMs: nowMs,
    })
    // Newest first, as the export sorts them (API document, section 4.12).
    const all = [...world.conversations(agentId, nowMs)]
      .filter(one => one.billableSessions > 0)
      .sort((a, b) => Number(b.document.ts ?? 0) - Number(a.document.ts ?? 0))
    const texts = all.slice(0, left).map(one => JSON.stringify(one.document))
    left -= texts.length
    for (let start = 0; start < texts.length; start += PAGE) {
      const sequence = start / PAGE + 1
      const page = pageOf(texts.slice(start, start + PAGE), { window, sequence, hasMore: start + PAGE < texts.length })
      bodies.push(page.body)
      agents.push(agentId)
      await landing.land(page.head, page.body)
    }
  }
  return { workspaceId: WORKSPACE, records: options.records - left, bodies, agents }
}
