// The audit log of an agent (sections 2.4 and 4.5): which field of its configuration changed when, and who changed it.
//
// Entries have no id, and identical entries of one second are legitimate. The key is the second, a digest of the content, and the number of the
// entry among identical ones. Pages overlap by a whole second, so every page but the first begins with all entries of its newest second, and an
// entry gets the same key on each page (ADR 13).
import { createHash } from 'node:crypto'
import { DAY } from '../../core/time.ts'
import { writeExactly } from '../../json/exact-json.ts'
import { isObject } from '../inspection/inspect.ts'
import type { RecordType } from '../shape.ts'
import { text, time } from '../shape.ts'
import type { Resource } from './resource.ts'

const KEY = '_key'

const auditEntry: RecordType = {
  name: 'audit entry',
  table: 'audit_log',
  about: 'One row for each change of a field of an agent, as its audit log reports it',
  id: { key: KEY, column: 'entry_id' },
  perAgent: true,
  fields: {
    [KEY]: text('Key of the entry, made from its content: the API has none', { column: 'entry_id' }),
    agentId: text('Agent, as sent', { column: 'reported_agent_id' }),
    ts: time('When the field changed', { column: 'changed_at' }),
    field: text('Path of the field, with ids of nodes in brackets', { pii: 'label', column: 'field_path' }),
    oldValue: text('Value before; none where it may be secret', { pii: 'content' }),
    newValue: text('Value after; none where it may be secret', { pii: 'content' }),
    source: text('What changed it: user_update, template_clone, agent_clone or system_migration', { pii: 'word' }),
    actor: text('Id of who changed it', { pii: 'staff' }),
  },
}

const CONTENT = ['agentId', 'ts', 'field', 'oldValue', 'newValue', 'source', 'actor']

/** Returns the answer with a key for each entry. The landed page contains the keys, so later redaction rules do not change them. */
export function keyEntries(answer: unknown): unknown {
  const { entries } = (answer ?? {}) as { entries?: unknown }
  if (!Array.isArray(entries)) return answer
  const seen = new Map<string, number>()
  const keyed = entries.map((entry: unknown) => {
    if (!isObject(entry)) return entry
    const content = writeExactly(CONTENT.map(name => entry[name] ?? null))
    const number = (seen.get(content) ?? 0) + 1
    seen.set(content, number)
    const digest = createHash('sha256').update(content).digest('hex').slice(0, 20)
    return { [KEY]: `${writeExactly(entry.ts ?? null)}-${digest}-${number}`, ...entry }
  })
  return { ...(answer as object), entries: keyed }
}

export const AUDIT_LOG = {
  stream: 'audit_log',
  answer: 'audit log',
  path: '/v3/agents/{agentId}/audit-log',
  parent: 'agents',
  paging: ({ limit, cursor }) => ({ limit, ...(cursor !== undefined && { cursorTs: cursor }) }),
  pageLimit: 200,
  prepare: keyEntries,
  envelope: ['entries'],
  freshness: { everyMs: DAY, changedAt: ['_changed_at', 'last_modified'] },
  record: auditEntry,
  // None at fixed paths: `redaction.ts` removes `oldValue` and `newValue` of variables, tool fields, headers and fields named as secrets.
  secrets: [],
  // Entries that the vendor drops from its log remain.
  absence: 'never',
  landedAs: 'audit',
} as const satisfies Resource
