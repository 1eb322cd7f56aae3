// What a person allows while a sync goes on: more than was, never less.

/** Limits of a run; null: none. */
export interface Limits {
  allowedPacks: number
  maxRequests: number | null
  maxSessions: number | null
}

/** Packs of overage, and higher limits where there are some. */
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
