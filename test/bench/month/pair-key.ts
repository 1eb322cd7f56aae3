// Key of a conversation in a map: ids are unique per agent.
export const pairKey = (agentId: string, id: string): string => JSON.stringify([agentId, id])
