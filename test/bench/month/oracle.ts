// Computes a lower bound of the cost: an oracle that knows the truth. Each poll costs a request per agent and returns
// the conversations that have just settled. Each conversation is exported once after it has become quiet, and once for
// each change that no event reported. An export that no poll's page contains costs one more request per agent and poll.
import type { ChangedConversation } from './changes.ts'

export interface OracleWorld {
  /** Times of the polls, in order. */
  polls: readonly number[]
  agents: number
  /** Conversations that had settled before this time are already stored. */
  startMs: number
  settleMs: number
  quietMs: number
  conversations: Iterable<ChangedConversation>
  /** Returns the start time of the conversation; undefined if it cannot be exported. */
  beganMs(conversation: ChangedConversation): number | undefined
  /** Returns the sessions that an export of the conversation bills at that time; 0 if the export does not return it. */
  sessionsAt(conversation: ChangedConversation, ms: number): number
  messagesAt(conversation: ChangedConversation, ms: number): number
}

export interface OracleBill {
  requests: number
  sessions: number
}

/**
 * Yields the polls at which the conversation is exported: for each change that events do not supply, the first poll at
 * which the conversation has been quiet since.
 */
function* exportsOf(
  { polls, settleMs, quietMs, ...world }: OracleWorld,
  conversation: ChangedConversation,
  isHeld: boolean,
) {
  const { changes } = conversation
  const settledMs = (world.beganMs(conversation) ?? Number.POSITIVE_INFINITY) + settleMs
  const passedMs = isHeld ? undefined : polls.find(ms => ms >= settledMs)
  let next = 0
  let isReported = true
  let changed = false
  let messages = isHeld ? world.messagesAt(conversation, world.startMs) : 0
  for (const ms of polls) {
    for (; next < changes.length && changes[next]!.ms <= ms; next++) {
      isReported = changes[next]!.isReported
      changed = true
    }
    if (!changed || ms < settledMs || changes[next - 1]!.ms > ms - quietMs) continue
    changed = false
    const currentMessages = world.messagesAt(conversation, ms)
    if (isReported && currentMessages === messages) continue
    messages = currentMessages
    yield { ms, comesWithPoll: ms === passedMs }
  }
}

/** Returns the cost of the oracle's polls. */
export function oracleBill(world: OracleWorld): OracleBill {
  const { startMs } = world
  const bill: OracleBill = { requests: 0, sessions: 0 }
  const extraRequests = new Set<string>()
  for (const conversation of world.conversations) {
    let isHeld = (world.beganMs(conversation) ?? startMs) <= startMs - world.settleMs
    for (const { ms, comesWithPoll } of exportsOf(world, conversation, isHeld)) {
      const sessions = world.sessionsAt(conversation, ms)
      if (sessions === 0) continue
      bill.sessions += sessions
      if (!comesWithPoll) extraRequests.add(`${conversation.agentId} ${ms}`)
      isHeld = true
    }
  }
  return { ...bill, requests: world.polls.length * world.agents + extraRequests.size }
}
