// Refused webhooks as text, for the receiver's log, `status` and `doctor`.
import { formatDuration, MINUTE } from '../../core/time.ts'
import { ago, counted, utc } from '../../core/words.ts'
import { REFUSALS, type Refusal } from '../../receiver/refusals.ts'
import type { Refused } from '../../spool/refusal-record.ts'

interface Reason {
  what: string
  hint: string
}

const NOT_OURS = 'Ignore it, unless you operate the sender.'

const REASONS: Record<Refusal, Reason> = {
  'not-json': { what: 'the body is not JSON', hint: NOT_OURS },
  'too-deep': { what: 'the body is nested deeper than 500 levels', hint: NOT_OURS },
  'wrong-secret': {
    what: 'the secret matches none of the configured ones',
    hint: "Compare the workspace secret in the vendor's settings with the one that `webhooks` names, and replace it as docs/webhooks.md describes. Refused events are not resent.",
  },
  'not-found': {
    what: 'the address is not /webhooks',
    hint: "Set the webhook address in the vendor's settings to one that ends in /webhooks.",
  },
  'wrong-method': {
    what: 'the method is not POST',
    hint: "Correct the webhook address in the vendor's settings, or in the proxy.",
  },
  'too-slow': { what: 'the sender was too slow and was disconnected in favour of others', hint: NOT_OURS },
  'too-large': { what: 'the body is larger than maxBody', hint: 'Raise `webhooks.maxBody`, up to 12MB.' },
  'disk-refuses': { what: 'the disk refuses writes', hint: 'Free disk space or make the data folder writable.' },
  'too-busy': {
    what: 'more concurrent events than the receiver can hold',
    hint: 'Check the load of the machine and its disk.',
  },
}

const isKnown = (reason: string): reason is Refusal => Object.hasOwn(REASONS, reason)

const reasonOf = (reason: string): Reason =>
  isKnown(reason)
    ? { ...REASONS[reason], what: `${REASONS[reason].what} (${REFUSALS[reason]})` }
    : { what: reason, hint: NOT_OURS }

export const hintOf = ({ reason }: Pick<Refused, 'reason'>): string => reasonOf(reason).hint

/** `174 requests refused within 2 h, the last 3 min ago: the secret matches none of the configured ones (401)`. */
export function refusedText({ reason, count, firstMs, lastMs }: Omit<Refused, 'workspaceId'>, nowMs: number): string {
  const within = lastMs - firstMs < MINUTE ? '' : ` within ${formatDuration(lastMs - firstMs)}`
  return `${counted(count, 'request')} refused${within}, the last ${ago(lastMs, nowMs)}: ${reasonOf(reason).what}`
}

/** A refusal as a line of the receiver's log. */
export function refusedLine({ workspaceId, reason, count, firstMs }: Refused): string {
  const whose = workspaceId === null ? 'of an unknown workspace' : `of ${workspaceId}`
  const since = count === 1 ? '' : ` since ${utc(firstMs)} UTC`
  const { what, hint } = reasonOf(reason)
  return `refused ${counted(count, 'webhook')} ${whose}${since}: ${what}. ${hint}`
}
