// Selects the window to read next, and its number of requests. While windows of several agents wait, each agent may
// make an equal share of the hour's requests; an agent that waits alone may make all. New conversations precede
// history, but one agent's may use only half of the hour while history of others waits.
import type { WindowProgress } from '../planning/windows.ts'
import type { GovernorState } from './governor.ts'
import { requestsThisHour } from './rate-limit.ts'

type Requests = Pick<GovernorState, 'rateLimit' | 'leases'>
type Waiting = Pick<WindowProgress, 'window'>

/** True for windows of new, named or changed conversations. All others can wait for hours. */
export const isUrgent = ({ window: { kind } }: Waiting): boolean =>
  kind === 'head' || kind === 'selected' || kind === 'refresh'

/** Returns the remaining requests of an agent's share while windows of these agents wait; infinite if no other agent waits. */
function shareLeft({ rateLimit, leases }: Requests, { window }: Waiting, waiting: readonly Waiting[], nowMs: number) {
  const others = new Set(waiting.map(other => other.window.agentId))
  others.delete(window.agentId)
  if (others.size === 0) return Number.POSITIVE_INFINITY
  const own = leases.filter(({ agentId }) => agentId === window.agentId)
  const leased = own.reduce((sum, { requests, made }) => sum + requests - made, 0)
  const made = requestsThisHour(rateLimit, nowMs, ({ agentId }) => agentId === window.agentId)
  return rateLimit.requestsPerHour / (1 + others.size) - made - leased
}

/** Returns the requests that a window's next lease may have while others wait; at least one. */
export function requestsInShare(state: Requests, own: Waiting, waiting: readonly Waiting[], nowMs: number): number {
  const rivals = waiting.filter(other => isUrgent(other) === isUrgent(own))
  return Math.max(1, Math.floor(shareLeft(state, own, rivals, nowMs)))
}

/** Returns the waiting window to read next, in the given order; undefined if none waits. */
export function nextWindow<W extends Waiting>(state: Requests, waiting: readonly W[], nowMs: number): W | undefined {
  const fairest = (windows: readonly W[]) =>
    windows.find(window => shareLeft(state, window, windows, nowMs) > 0) ?? windows[0]
  const urgent = fairest(waiting.filter(isUrgent))
  const history = fairest(waiting.filter(window => !isUrgent(window)))
  return urgent && (!history || shareLeft(state, urgent, [history], nowMs) > 0) ? urgent : history
}
