// Translates ConvohouseError to Temporal's ApplicationFailure and back. No other file does.
import { ApplicationFailure } from '@temporalio/common'
import type { Failure } from '../../../workflows/steps.ts'
import { ConvohouseError, ERRORS, failureOf } from '../../core/errors.ts'

/** Returns an ApplicationFailure whose type is the error code, retryable only for transient errors. Other errors pass unchanged. */
export function asFailure(error: unknown): unknown {
  const failure = failureOf(error)
  if (failure === null) return error
  const { code, kind, what: message } = failure
  const nonRetryable = kind !== 'transient'
  return ApplicationFailure.create({ message, type: code, nonRetryable, details: [failure], cause: error as Error })
}

/**
 * Returns the failure of a publication. It is always retried, unless somebody waits for it. It has no causes, which may quote data.
 */
export function asPublicationFailure(
  error: ConvohouseError,
  { isAttended }: { isAttended: boolean },
): ApplicationFailure {
  const { code, message } = error
  // A worker that stops leaves the publication to the next one.
  const isHandedOver = code === 'INTERRUPTED'
  return ApplicationFailure.create({
    message,
    type: code,
    nonRetryable: isAttended && !isHandedOver,
    details: [failureOf(error)],
    ...(isHandedOver && { nextRetryDelay: '1 second' }),
  })
}

const isOurs = (details: unknown): details is Failure =>
  typeof details === 'object' && details !== null && Object.hasOwn(ERRORS, String((details as Failure).code))

/** Returns the error that the failure describes. */
export const errorOf = ({ code, what, hint }: Omit<Failure, 'kind'>): ConvohouseError =>
  new ConvohouseError(code, { what, ...(hint && { hint }) })

/** Returns the failure that `asFailure` attached to the error or to one of its causes; null if there is none. */
export function failureIn(error: unknown): Failure | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    const [details] = at instanceof ApplicationFailure ? (at.details ?? []) : []
    if (isOurs(details)) return details
  }
  return null
}
