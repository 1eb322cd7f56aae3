// A conversation's name in a map: ids are unique to an agent.
export const pairKey = (agentId: string, id: string): string => JSON.stringify([agentId, id])
