// Allowances that a person grants to a running sync: limits only rise.

/** Limits of a run; null: none. */
interface Limits {
  allowedPacks: number
  maxRequests: number | null
  maxSessions: number | null
}

/** Allowed overage packs, and raised limits of the run. */
export interface Allowance {
  packs?: number
  requests?: number
  sessions?: number
}

const higher = (limit: number | null, raisedTo = 0): number | null =>
  limit === null ? null : Math.max(limit, raisedTo)

export const raised = (
  { allowedPacks, maxRequests, maxSessions }: Limits,
  { packs = 0, requests, sessions }: Allowance,
): Limits => ({
  allowedPacks: Math.max(allowedPacks, packs),
  maxRequests: higher(maxRequests, requests),
  maxSessions: higher(maxSessions, sessions),
})
