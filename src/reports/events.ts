// Webhook events of a workspace: received, applied and waiting, by type; refused requests; conversations known only from events.
import { DAY, momentText } from '../core/time.ts'
import { type DrainFailure, readDrainFailure } from '../spool/drain-failure.ts'
import { type Refused, readRefused } from '../spool/refusal-record.ts'
import { spoolWaiting } from '../spool/waiting.ts'
import type { Rows } from '../warehouse/query/rows.ts'

interface EventTypeStatus {
  type: string
  events: number
  /** Time when the last event of this type was received, ISO-8601 UTC. A type without an entry is not subscribed or never occurred. */
  last: string
}

export interface EventsStatus {
  /** Number of applied and waiting events. */
  received: number
  applied: number
  waiting: number
  waitingBytes: number
  /** Time when the oldest waiting event arrived, ISO-8601 UTC, approximately; null if none waits. */
  waitingSince: string | null
  /** Number of spool segments that cannot be read. Their events are waiting too, but are not in the counts. */
  unreadableSegments: number
  /** Number of stored events that were damaged on disk; the spool keeps their lines, which `_issues` names. */
  damaged: number
  /** Reason why events are not applied; null if nothing fails. Times are ISO-8601 UTC. */
  failing:
    | (Pick<DrainFailure, 'code' | 'what' | 'hint' | 'attempts' | 'pid'> & { since: string; nextTry: string })
    | null
  /** Requests that receivers refused in the last seven days, the latest first. Times are ISO-8601 UTC. */
  refused: RefusedStatus[]
  types: EventTypeStatus[]
  /** Number of conversations that events name but no export has returned. */
  conversationsNotExported: number
  /** Number of conversations that changed after they were exported. */
  conversationsChanged: number
}

export interface RefusedStatus extends Pick<Refused, 'reason' | 'count'> {
  first: string
  last: string
}

const REFUSALS_SHOWN_MS = 7 * DAY

/** Returns the refused requests of a workspace, or with `null` those that cannot be attributed to any workspace. */
export async function refusedStatus(home: string, workspaceId: string | null, nowMs: number): Promise<RefusedStatus[]> {
  const all = await readRefused(home)
  return all
    .filter(refused => refused.workspaceId === workspaceId && nowMs - refused.lastMs < REFUSALS_SHOWN_MS)
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

const damagedSql = (here: string): string =>
  `SELECT coalesce(sum(occurrences), 0)::INTEGER AS damaged FROM _issues WHERE ${here} AND issue = 'damaged in the spool'`

const conversationsSql = (here: string): string => `
  SELECT count(*) FILTER (NOT _complete AND _missing_since IS NULL AND _not_exportable_since IS NULL)::INTEGER AS "conversationsNotExported",
    count(*) FILTER (_complete AND _dirty_since IS NOT NULL)::INTEGER AS "conversationsChanged"
  FROM conversations WHERE ${here}`

const NONE = { conversationsNotExported: 0, conversationsChanged: 0 }

async function failingOf(home: string, workspaceId: string): Promise<EventsStatus['failing']> {
  const failure = await readDrainFailure(home, workspaceId)
  if (failure === null) return null
  const { sinceMs, nextMs, ...rest } = failure
  return { ...rest, since: momentText(sinceMs), nextTry: momentText(nextMs) }
}

/** Returns the state of events. `rows` is null without a warehouse; `here` is the SQL condition for the workspace. */
export async function eventsStatus(options: {
  home: string
  workspaceId: string
  rows: Rows | null
  here: string
  nowMs: number
}): Promise<EventsStatus> {
  const { home, workspaceId, rows, here, nowMs } = options
  // Waiting events are counted first: an event applied between the counts is counted twice rather than not at all.
  const waiting = await spoolWaiting(home, workspaceId)
  const types = rows ? await rows<EventTypeStatus>(typesSql(here)) : []
  const [damage] = rows ? await rows<{ damaged: number }>(damagedSql(here)) : []
  const [conversations = NONE] = rows ? await rows<typeof NONE>(conversationsSql(here)) : []
  const applied = types.reduce((sum, { events }) => sum + events, 0)
  return {
    received: applied + waiting.events,
    applied,
    waiting: waiting.events,
    waitingBytes: waiting.bytes,
    waitingSince: waiting.sinceMs === null ? null : momentText(waiting.sinceMs),
    unreadableSegments: waiting.unreadable,
    damaged: damage?.damaged ?? 0,
    failing: await failingOf(home, workspaceId),
    refused: await refusedStatus(home, workspaceId, nowMs),
    types,
    ...conversations,
  }
}
