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

/** `kept`: on the disk. */
export type Verdict = 'kept' | Refusal
