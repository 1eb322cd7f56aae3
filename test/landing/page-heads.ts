// Heads of pages as the landing stores them; a test sets only the fields that it tests.
import { emptyNotes } from '../../src/catalog/inspection/inspect.ts'
import type { PageHead } from '../../src/landing/page.ts'
import type { PagePlace } from '../../src/landing/page-address.ts'

export const SENT_AT_MS = Date.UTC(2026, 10, 20, 9)

export const placeOf = (parts: Partial<PagePlace> = {}): PagePlace => ({
  stream: 'conversations',
  agentId: 'agent-1',
  window: '20261120T090000000Z-head-1-2',
  generation: 1,
  sequence: 1,
  ...parts,
})

export const headOf = (place: Partial<PagePlace> = {}, parts: Partial<PageHead> = {}): PageHead => ({
  v: 1,
  catalogVersion: 1,
  workspaceId: 'ws',
  place: placeOf(place),
  run: 'run-1',
  lease: 'lease-1',
  request: { path: '/v3/agents/agent-1/convos/export', query: { limit: '100' } },
  status: 200,
  sentAtMs: SENT_AT_MS,
  receivedAtMs: SENT_AT_MS + 100,
  sentAtServerMs: SENT_AT_MS,
  bodyBytes: 0,
  lastPage: false,
  facts: null,
  usage: null,
  rateLimit: null,
  notes: emptyNotes(),
  ...parts,
})
