// What `status` tells of webhook events: received and applied, waiting, of which types, and what no export knows of.
import { momentText } from '../../core/time.ts'
import { type DrainFailure, readDrainFailure } from '../../spool/drain-failure.ts'
import { type Refused, readRefused } from '../../spool/refusal-record.ts'
import { spoolWaiting } from '../../spool/waiting.ts'
import { SHOWN_MS } from '../terminal/refusal-text.ts'
import type { Rows } from './reading.ts'

export interface EventTypeStatus {
  type: string
  events: number
  /** ISO-8601 UTC: when the last one was received. A type that never came is not subscribed, or there was none. */
  last: string
}

export interface EventsStatus {
  /** Those that were applied, and those that wait. */
  received: number
  applied: number
  waiting: number
  waitingBytes: number
  /** Since when the oldest of them waits, ISO-8601 UTC, about; null where none does. */
  waitingSince: string | null
  /** Segments of the spool that cannot be read: their events wait, too, and are not counted. */
  unreadableSegments: number
  /** Why they are not applied; null where nothing fails. Times are ISO-8601 UTC. */
  failing:
    | (Pick<DrainFailure, 'code' | 'what' | 'hint' | 'attempts' | 'pid'> & { since: string; nextTry: string })
    | null
  /** Requests to its receivers that were refused in the last days, the latest first. Times are ISO-8601 UTC. */
  refused: RefusedStatus[]
  types: EventTypeStatus[]
  /** Conversations that events have told of, and no export. */
  conversationsNotExported: number
  /** Conversations that have changed since they were exported. */
  conversationsChanged: number
}

export interface RefusedStatus extends Pick<Refused, 'reason' | 'count'> {
  first: string
  last: string
}

/** Of a workspace; null: of those that nobody knows whose they were. */
export async function refusedStatus(home: string, workspaceId: string | null, nowMs: number): Promise<RefusedStatus[]> {
  const all = await readRefused(home)
  return all
    .filter(refused => refused.workspaceId === workspaceId && nowMs - refused.lastMs < SHOWN_MS)
    .map(({ reason, count, firstMs, lastMs }) => ({
      reason,
      count,
      first: momentText(firstMs),
      last: momentText(lastMs),
    }))
}

const typesSql = (here: string): string => `
  SELECT type, count(*)::INTEGER AS events, max(received_at) AS last
  FROM webhook_events WHERE ${here} GROUP BY type ORDER BY events DESC, type`

const conversationsSql = (here: string): string => `
  SELECT count(*) FILTER (NOT _complete AND _missing_since IS NULL AND _not_exportable_since IS NULL)::INTEGER AS "conversationsNotExported",
    count(*) FILTER (_complete AND _dirty_since IS NOT NULL)::INTEGER AS "conversationsChanged"
  FROM conversations WHERE ${here}`

/** A warehouse that an earlier version wrote has no table of them before it is written again. */
const HAS_TABLE = "SELECT 1 FROM duckdb_tables() WHERE table_name = 'webhook_events'"

const NONE = { conversationsNotExported: 0, conversationsChanged: 0 }

async function failingOf(home: string, workspaceId: string): Promise<EventsStatus['failing']> {
  const failure = await readDrainFailure(home, workspaceId)
  if (failure === null) return null
  const { sinceMs, nextMs, ...rest } = failure
  return { ...rest, since: momentText(sinceMs), nextTry: momentText(nextMs) }
}

/** `rows` is null where there is no warehouse yet; `here` restricts to the workspace. */
export async function eventsStatus(options: {
  home: string
  workspaceId: string
  rows: Rows | null
  here: string
  nowMs: number
}): Promise<EventsStatus> {
  const { home, workspaceId, here, nowMs } = options
  const rows = options.rows && (await options.rows(HAS_TABLE)).length > 0 ? options.rows : null
  // Waiting first: what is applied meanwhile counts twice, never not at all.
  const waiting = await spoolWaiting(home, workspaceId)
  const types = rows ? await rows<EventTypeStatus>(typesSql(here)) : []
  const [conversations = NONE] = rows ? await rows<typeof NONE>(conversationsSql(here)) : []
  const applied = types.reduce((sum, { events }) => sum + events, 0)
  return {
    received: applied + waiting.events,
    applied,
    waiting: waiting.events,
    waitingBytes: waiting.bytes,
    waitingSince: waiting.sinceMs === null ? null : momentText(waiting.sinceMs),
    unreadableSegments: waiting.unreadable,
    failing: await failingOf(home, workspaceId),
    refused: await refusedStatus(home, workspaceId, nowMs),
    types,
    ...conversations,
  }
}
