// What is older than allowed, in sentences that `status`, `doctor` and the dashboard share.
import { formatDuration } from './time.ts'

const NOT_RECEIVED =
  "Check that `convohouse receive` or `up` runs, and that the webhook address in the vendor's settings leads to it."
const NOT_PUBLISHED = '`sync --watch`, `up` and `worker` publish; after a single `sync`, run `convohouse publish`.'

/** By kind: the sentence, with the time that has passed since then (until then, for a wrong clock), and the hint. */
const KINDS = {
  'clock-wrong': [
    (time: string) => `the last sync ended in ${time} by this machine's clock`,
    'Check the date of this machine (NTP): until it is right, nothing shows whether data is overdue.',
  ],
  'no-sync': [
    (time: string) => `no sync has succeeded for ${time}`,
    'Check that `convohouse up`, `worker` or `sync --watch` runs (`convohouse schedule list` names paused schedules), or run `convohouse sync`.',
  ],
  'events-waiting': [
    (time: string) => `webhook events have waited for ${time} to be applied`,
    '`convohouse up`, `worker` and `sync` apply them; `convohouse status` shows why applying fails.',
  ],
  'no-events': [(time: string) => `no webhook event has come for ${time}`, NOT_RECEIVED],
  'no-first-event': [(time: string) => `no webhook event has come since the first sync, ${time} ago`, NOT_RECEIVED],
  'target-behind': [(time: string) => `has lacked changes for ${time}`, NOT_PUBLISHED],
  'target-empty': [(time: string) => `was never published to; the first sync succeeded ${time} ago`, NOT_PUBLISHED],
} as const

export type OverdueKind = keyof typeof KINDS

/** Something that is older than allowed. */
export interface Overdue {
  kind: OverdueKind
  /** ISO time. */
  since: string
  what: string
  hint: string
}

export function overdue(kind: OverdueKind, sinceMs: number, nowMs: number): Overdue {
  const [sentence, hint] = KINDS[kind]
  const what = sentence(formatDuration(Math.abs(nowMs - sinceMs)))
  return { kind, since: new Date(sinceMs).toISOString(), what, hint }
}
