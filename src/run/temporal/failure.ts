// Our errors as Temporal's: terminal or transient is part of an error's code, and told in one place.
import { ApplicationFailure } from '@temporalio/common'
import { ConvohouseError } from '../../core/errors.ts'

/** What a workflow is told: the code, and whether another try may succeed. Anything that is no error of ours stays as it is. */
export function asFailure(error: unknown): unknown {
  if (!(error instanceof ConvohouseError)) return error
  const { code, kind, message, mend = null, transient } = error
  return ApplicationFailure.create({
    message,
    type: code,
    nonRetryable: !transient,
    details: [{ code, kind, what: message, mend }],
    cause: error,
  })
}
