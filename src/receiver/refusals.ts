// What becomes of a request: kept, or refused for one of these reasons, each with its status.
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

/** Those of requests that are no events of the vendor's, whoever sent them. */
const NO_EVENTS: ReadonlySet<string> = new Set<Refusal>(['not-json', 'not-found', 'wrong-method'])

/** True where an event may have been lost by it. */
export const mayLoseEvent = (reason: string): boolean => !NO_EVENTS.has(reason)

/** `kept`: on the disk. */
export type IntakeResult = 'kept' | Refusal
