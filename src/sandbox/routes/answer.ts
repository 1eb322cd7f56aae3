// An endpoint's answer, and the error envelope (API document, section 7).
export interface Answer {
  status: number
  contentType: string
  body: Buffer | string
  headers?: Record<string, string>
  /** For the request log: conversations in the answer, and sessions billed. */
  returned?: number
  billed?: number
  /** Omitted to send the complete answer at once, with the correct `Date`. */
  delivery?: Delivery
}

export interface Delivery {
  /** `nothing`: closes the connection; `half`: closes it in the middle of the body. Omitted for the complete answer. */
  sends?: 'nothing' | 'half'
  /** Delay in real milliseconds. */
  holdMs?: number
  /** Added to the `Date` header. */
  dateOffsetMs?: number
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** `code` values are tRPC's (notes on the API, "Set of `code` values"). */
const CODES = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  402: 'PAYMENT_REQUIRED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
} as const

type FaultStatus = keyof typeof CODES

export function jsonAnswer(value: unknown): Answer {
  return { status: 200, contentType: JSON_TYPE, body: JSON.stringify(value) }
}

/** Returns the error envelope: `message`, `code`, and `issues` of `{message}`, one per problem. */
export function fault(
  status: FaultStatus,
  message: string,
  more: { issues?: string[]; headers?: Record<string, string> } = {},
): Answer {
  const issues = (more.issues ?? [message]).map(issue => ({ message: issue }))
  return {
    status,
    contentType: JSON_TYPE,
    body: JSON.stringify({ message, code: CODES[status], issues }),
    ...(more.headers && { headers: more.headers }),
  }
}
