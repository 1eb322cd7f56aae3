// Computes the cost of a simple strategy: export the last week again each day, so that no change in it is missed.
import { DAY } from '../../../src/core/time.ts'
import { type Changes, pairKey } from './changes.ts'

const WEEK_MS = 7 * DAY
const PAGE = 100

/** Returns the cost of one export per day. `history`: start times of the conversations that began before the first export. */
export function lookbackOf(world: {
  history: ReadonlyMap<string, number>
  changes: Changes
  days: readonly number[]
  sessionsAt(conversation: { agentId: string; id: string }, ms: number): number
}): { requests: number; sessions: number } {
  const { history, changes, days, sessionsAt } = world
  const began = new Map(history)
  for (const { agentId, id, changes: own } of changes.all()) {
    const key = pairKey(agentId, id)
    if (!began.has(key)) began.set(key, own[0]!.ms)
  }
  const bill = { requests: 0, sessions: 0 }
  for (const day of days) {
    const conversations = new Map<string, number>()
    for (const [key, ms] of began) {
      if (ms > day || ms <= day - WEEK_MS) continue
      const [agentId, id] = JSON.parse(key) as [string, string]
      bill.sessions += sessionsAt({ agentId, id }, day)
      conversations.set(agentId, (conversations.get(agentId) ?? 0) + 1)
    }
    for (const count of conversations.values()) bill.requests += Math.ceil(count / PAGE)
  }
  return bill
}
