// Who knows the truth and pays no more than they must: for each poll a request an agent, which brings what has just settled; for
// each conversation once when it has been quiet after what was written in it, and for each change that no event told. What no
// poll brings takes a request an agent and poll.
import type { ChangedConversation } from './changes.ts'

export interface OracleWorld {
  /** When somebody polls, in order. */
  polls: readonly number[]
  agents: number
  /** What had settled by then is held already. */
  startMs: number
  settleMs: number
  quietMs: number
  conversations: Iterable<ChangedConversation>
  /** When it began; undefined where nobody can buy it. */
  beganMs(conversation: ChangedConversation): number | undefined
  /** What an export of it bills then; 0: it is not returned. */
  sessionsAt(conversation: ChangedConversation, ms: number): number
  messagesAt(conversation: ChangedConversation, ms: number): number
}

export interface OracleBill {
  requests: number
  sessions: number
  /** Purchases: the first of a conversation, those after something more was written, and those of changes that no event told. */
  first: number
  told: number
  untold: number
  /** Sessions of the first purchases and the untold alone: what changed later and was told is taken from the event. */
  leastSessions: number
}

/** Polls at which it is bought: the first at which it has been quiet since a change that is no event's alone to tell, each change once. */
function* purchases(
  { polls, settleMs, quietMs, ...world }: OracleWorld,
  conversation: ChangedConversation,
  isHeld: boolean,
) {
  const { changes } = conversation
  const settledMs = (world.beganMs(conversation) ?? Number.POSITIVE_INFINITY) + settleMs
  const passedMs = isHeld ? undefined : polls.find(ms => ms >= settledMs)
  let next = 0
  let isTold = true
  let changed = false
  let messages = isHeld ? world.messagesAt(conversation, world.startMs) : 0
  for (const ms of polls) {
    for (; next < changes.length && changes[next]!.ms <= ms; next++) {
      isTold = changes[next]!.isTold
      changed = true
    }
    if (!changed || ms < settledMs || changes[next - 1]!.ms > ms - quietMs) continue
    changed = false
    const written = world.messagesAt(conversation, ms)
    if (isTold && written === messages) continue
    messages = written
    yield { ms, isTold, comesWithPoll: ms === passedMs }
  }
}

/** What the polls cost that know the truth. */
export function oracleBill(world: OracleWorld): OracleBill {
  const { startMs } = world
  const bill: OracleBill = { requests: 0, sessions: 0, first: 0, told: 0, untold: 0, leastSessions: 0 }
  const again = new Set<string>()
  for (const conversation of world.conversations) {
    let isHeld = (world.beganMs(conversation) ?? startMs) <= startMs - world.settleMs
    for (const { ms, isTold, comesWithPoll } of purchases(world, conversation, isHeld)) {
      const sessions = world.sessionsAt(conversation, ms)
      if (sessions === 0) continue
      bill.sessions += sessions
      if (!isHeld || !isTold) bill.leastSessions += sessions
      bill[isHeld ? (isTold ? 'told' : 'untold') : 'first'] += 1
      if (!comesWithPoll) again.add(`${conversation.agentId} ${ms}`)
      isHeld = true
    }
  }
  return { ...bill, requests: world.polls.length * world.agents + again.size }
}
