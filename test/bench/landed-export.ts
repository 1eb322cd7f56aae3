// A landing filled with the sandbox's conversations, as a sync would leave it: pages of 100, inspected, compressed.

import { conversation } from '../../src/catalog/conversation.ts'
import { compileInspection } from '../../src/catalog/inspect.ts'
import { CATALOG_VERSION } from '../../src/catalog/records.ts'
import { openWindow } from '../../src/core/windows.ts'
import { openLanding } from '../../src/landing/store.ts'
import { createWorld } from '../../src/sandbox/world.ts'

const PAGE = 100
const WORKSPACE = 'ws_bench'

export interface LandedExport {
  workspaceId: string
  records: number
  /** Page bodies as they came over the wire. */
  bodies: Buffer[]
}

/** Lands `records` conversations of `agents` agents below `home`. */
export async function landExport(home: string, options: { records: number; agents: number }): Promise<LandedExport> {
  const nowMs = Date.UTC(2026, 10, 1)
  // A twentieth has no human message and is skipped, as the export does.
  const world = createWorld({
    agents: options.agents,
    conversations: Math.ceil(options.records * 1.1),
    startMs: nowMs,
    seed: 1,
  })
  const landing = openLanding(home, WORKSPACE)
  const inspect = compileInspection(conversation)
  const bodies: Buffer[] = []
  let left = options.records
  for (const agentId of world.agentIds()) {
    const window = openWindow({
      agentId,
      kind: 'tail',
      fromSec: null,
      toSec: Math.floor(nowMs / 1_000),
      openedAtMs: nowMs,
    })
    const all = [...world.conversations(agentId, nowMs)].filter(one => one.billableSessions > 0)
    const texts = all.slice(0, left).map(one => JSON.stringify(one.document))
    left -= texts.length
    for (let start = 0; start < texts.length; start += PAGE) {
      const slice = texts.slice(start, start + PAGE)
      const sequence = start / PAGE + 1
      const hasMore = start + PAGE < texts.length
      const body = Buffer.from(
        `{"success":true,"message":"exported","data":[${slice.join(',')}],"hasMore":${hasMore},"nextCursor":null}`,
      )
      bodies.push(body)
      const facts = {
        window,
        generation: 1,
        sequence,
        limit: PAGE,
        cursorIn: sequence > 1 ? `after-${sequence - 1}` : null,
        cursorOut: hasMore ? `after-${sequence}` : null,
        hasMore,
        returned: slice.length,
        scanned: slice.length,
        billed: slice.length,
        lastTsMs: nowMs,
        missing: [],
      }
      const records = (JSON.parse(body.toString()) as { data: unknown[] }).data
      await landing.land(
        {
          v: 1,
          catalogVersion: CATALOG_VERSION,
          workspaceId: WORKSPACE,
          place: { stream: 'conversations', agentId, window: window.name, generation: 1, sequence },
          run: 'bench',
          lease: null,
          request: { path: `/v3/agents/${agentId}/convos/export`, query: {} },
          status: 200,
          sentAtMs: nowMs,
          receivedAtMs: nowMs,
          sentAtServerMs: nowMs,
          bodyBytes: body.length,
          lastPage: !hasMore,
          facts,
          usage: null,
          rateLimit: null,
          notes: inspect(records),
        },
        body,
      )
    }
  }
  return { workspaceId: WORKSPACE, records: options.records - left, bodies }
}
