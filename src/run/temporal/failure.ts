// Our errors as Temporal's, and back: terminal or transient is part of an error's code, and told in one place.
import { ApplicationFailure } from '@temporalio/common'
import type { Failure } from '../../../workflows/steps.ts'
import { ConvohouseError, ERRORS } from '../../core/errors.ts'

/** What a workflow is told: the code, and whether another try may succeed. Anything that is no error of ours stays as it is. */
export function asFailure(error: unknown): unknown {
  if (!(error instanceof ConvohouseError)) return error
  const { code, kind, message, hint = null, transient } = error
  return ApplicationFailure.create({
    message,
    type: code,
    nonRetryable: !transient,
    details: [{ code, kind, what: message, hint }],
    cause: error,
  })
}

const isOurs = (details: unknown): details is Failure =>
  typeof details === 'object' && details !== null && Object.hasOwn(ERRORS, String((details as Failure).code))

/** What was told so, of whatever it has ended; null where it is no failure of ours. */
export function failureIn(error: unknown): Failure | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    const [details] = at instanceof ApplicationFailure ? (at.details ?? []) : []
    if (isOurs(details)) return details
  }
  return null
}
