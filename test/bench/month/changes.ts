// Collects the true changes of conversations: each change of a record, and whether an event reported it.

export interface Change {
  ms: number
  isReported: boolean
}

export interface ChangedConversation {
  agentId: string
  id: string
  /** Changes in chronological order. */
  changes: Change[]
}

/** Returns the key of a conversation in a map: ids are unique per agent. */
export const pairKey = (agentId: string, id: string): string => JSON.stringify([agentId, id])

export class Changes {
  private readonly conversations = new Map<string, ChangedConversation>()

  /** Changes must be added in chronological order. */
  add({ agentId, id, ...change }: Change & { agentId: string; id: string }): void {
    const key = pairKey(agentId, id)
    const known = this.conversations.get(key)
    if (known) known.changes.push(change)
    else this.conversations.set(key, { agentId, id, changes: [change] })
  }

  all(): Iterable<ChangedConversation> {
    return this.conversations.values()
  }

  /** Returns all changes since the start of the month. */
  of(agentId: string, id: string): readonly Change[] {
    return this.conversations.get(pairKey(agentId, id))?.changes ?? []
  }

  /** Returns undefined if the conversation has not changed since the start of the month. */
  lastOf(agentId: string, id: string): Change | undefined {
    return this.conversations.get(pairKey(agentId, id))?.changes.at(-1)
  }
}
