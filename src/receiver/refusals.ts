// Reasons for which a webhook request is refused, each with its HTTP status.
export const REFUSALS = {
  'not-json': 400,
  'too-deep': 400,
  'wrong-secret': 401,
  'not-found': 404,
  'wrong-method': 405,
  'too-slow': 408,
  'too-large': 413,
  'disk-refuses': 503,
  'too-busy': 503,
} as const

export type Refusal = keyof typeof REFUSALS

/** Reasons for which the vendor's own events are never refused. */
const NO_EVENTS: ReadonlySet<string> = new Set<Refusal>(['not-json', 'not-found', 'wrong-method'])

/** True if a refusal for this reason may have lost an event. */
export const mayLoseEvent = (reason: string): boolean => !NO_EVENTS.has(reason)

/** `kept`: the event is durable. */
export type IntakeResult = 'kept' | Refusal
