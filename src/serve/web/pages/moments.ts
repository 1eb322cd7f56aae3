// What is known of a conversation as moments in one order of time.
import type { Row, Told } from '../api/conversations.ts'
import { durationText, valueText } from '../format/values.ts'
import { wordOf } from '../state/colours.ts'

export interface Moment {
  key: string
  ms: number
  /** False: only its day is known. */
  isTimed: boolean
  kind: 'message' | 'state' | 'handoff' | 'mark' | 'event' | 'cost'
  text: string
  /** Of a message: contact, agent, person or unknown. */
  sender?: string
  name?: string | null
}

/** The order of what happened at the same time. */
const ORDER: readonly Moment['kind'][] = ['state', 'message', 'handoff', 'mark', 'event', 'cost']

const word = (value: Row[string] | undefined, dimension: 'state' | 'assignee' = 'state') => wordOf(dimension, value)

const seconds = (value: Row[string] | undefined, before: string) =>
  typeof value === 'number' ? `${before}${durationText(value)}` : ''

/** Returns the moment at a time of the vendor; nothing if there is none. */
function at(time: Row[string] | undefined, kind: Moment['kind'], text: string, more: Partial<Moment> = {}): Moment[] {
  const ms = Date.parse(String(time))
  return Number.isNaN(ms) ? [] : [{ key: `${kind} ${time} ${text}`, ms, isTimed: true, kind, text, ...more }]
}

const handoffOf = (row: Row): Moment[] => {
  const team = row.team_labels ?? row.requested_team_label
  const by = row.accepted_by_name ?? row.accepted_by
  const isPending = row.accepted_at === null && row.completed_at === null
  return [
    at(
      row.requested_at,
      'handoff',
      `A person was asked for${team ? ` (${team})` : ''}${isPending ? '; nobody has accepted' : ''}`,
    ),
    at(
      row.accepted_at,
      'handoff',
      `${by ? word(by, 'assignee') : 'A person'} accepted the handoff${seconds(row.wait_seconds, ' after ')}`,
    ),
    at(row.completed_at, 'handoff', `The handoff ended${seconds(row.handling_seconds, ' after ')}`),
  ].flat()
}

/** Costs of a day stand at its end. */
const costOf = (row: Row): Moment[] => {
  const parts = [
    typeof row.tokens_usd === 'number' && valueText(row.tokens_usd, 'usd'),
    typeof row.tokens === 'number' && valueText(row.tokens, 'tokens'),
    typeof row.credits === 'number' && `${valueText(row.credits, 'count')} credits`,
  ].filter(Boolean)
  if (parts.length === 0) return []
  return at(`${row.day}T23:59:59.999`, 'cost', `Costs of this day: ${parts.join(', ')}`, { isTimed: false })
}

/** Joins equal events that follow each other. */
function joined(moments: readonly Moment[]): Moment[] {
  const kept: { moment: Moment; times: number }[] = []
  for (const moment of moments) {
    const last = kept.at(-1)
    if (last && moment.kind === 'event' && last.moment.kind === 'event' && last.moment.text === moment.text)
      last.times += 1
    else kept.push({ moment, times: 1 })
  }
  return kept.map(({ moment, times }) =>
    times === 1 ? moment : { ...moment, text: `${moment.text} (${times} times)` },
  )
}

/** Returns all moments, the oldest first. */
export function momentsOf({ conversation, transcript, states, handoffs, events, spend }: Told): Moment[] {
  const score = (name: string) =>
    typeof conversation[name] === 'number' ? `: ${valueText(conversation[name], 'score')}` : ''
  const moments = [
    (transcript ?? []).map(row =>
      at(row.written_at ?? conversation.started_at, 'message', String(row.text ?? ''), {
        ...{ key: `message ${row.position}`, sender: String(row.sender), isTimed: row.written_at !== null },
        name: row.sender_name === null ? null : word(row.sender_name, 'assignee'),
      }),
    ),
    states.map(row => at(row.began_at, 'state', `${word(row.state)}${seconds(row.seconds, ' for ')}`)),
    handoffs.map(handoffOf),
    at(conversation.first_resolved_at, 'mark', 'Resolved'),
    at(conversation.reopened_at, 'mark', 'Reopened'),
    at(conversation.csat_submitted_at, 'mark', `Survey answered${score('csat_score')}`),
    events.map(row => at(row.created_at ?? row.received_at, 'event', `Event: ${word(row.type)}`)),
    spend.map(costOf),
  ].flat(2)
  return joined(moments.sort((a, b) => a.ms - b.ms || ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind)))
}
