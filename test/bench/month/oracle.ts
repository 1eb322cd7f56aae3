// Who knows the truth and pays no more than they must: for each poll a request an agent; for each conversation once when it has been
// quiet, whether an event told that it had changed or not, in a request an agent and poll. What is new comes with the poll.
import type { ChangedConversation } from './changes.ts'

export interface OracleWorld {
  /** When somebody polls, in order. */
  polls: readonly number[]
  agents: number
  settleMs: number
  quietMs: number
  conversations: Iterable<ChangedConversation>
  /** When it began; undefined where nobody can buy it. */
  beganMs(conversation: ChangedConversation): number | undefined
  /** What an export of it bills then; 0: it is not returned. */
  sessionsAt(conversation: ChangedConversation, ms: number): number
}

export interface OracleBill {
  requests: number
  sessions: number
  /** Purchases: of conversations that no poll had passed, of those that events told had changed, and of those that no event told of. */
  first: number
  told: number
  untold: number
  /** Sessions of the first purchases and the untold alone: what changed later and was told is taken from the event. */
  leastSessions: number
}

/** Polls at which it is bought: the first at which it has been quiet since a change, each change once. */
function* purchases({ polls, settleMs, quietMs, ...world }: OracleWorld, conversation: ChangedConversation) {
  const { changes } = conversation
  const settledMs = (world.beganMs(conversation) ?? Number.POSITIVE_INFINITY) + settleMs
  let next = 0
  let isTold = true
  let changed = false
  for (const ms of polls) {
    for (; next < changes.length && changes[next]!.ms <= ms; next++) {
      isTold = changes[next]!.isTold
      changed = true
    }
    if (!changed || ms < settledMs || changes[next - 1]!.ms > ms - quietMs) continue
    changed = false
    yield { ms, isTold }
  }
}

/** What the polls cost that know the truth. `startMs`: what had settled by then is held already. */
export function oracleBill(world: OracleWorld, startMs: number): OracleBill {
  const bill: OracleBill = { requests: 0, sessions: 0, first: 0, told: 0, untold: 0, leastSessions: 0 }
  const again = new Set<string>()
  for (const conversation of world.conversations) {
    let isHeld = (world.beganMs(conversation) ?? startMs) <= startMs - world.settleMs
    for (const { ms, isTold } of purchases(world, conversation)) {
      const sessions = world.sessionsAt(conversation, ms)
      if (sessions === 0) continue
      bill.sessions += sessions
      if (!isHeld || !isTold) bill.leastSessions += sessions
      bill[isHeld ? (isTold ? 'told' : 'untold') : 'first'] += 1
      if (isHeld) again.add(`${conversation.agentId} ${ms}`)
      isHeld = true
    }
  }
  return { ...bill, requests: world.polls.length * world.agents + again.size }
}
