// Events that cannot be applied for now, as the displays tell it.
import type { DrainFailing } from '../../../workflows/ingest.ts'
import { ConvohouseError, type ErrorCode } from '../../core/errors.ts'
import type { Displays } from './displays.ts'

function failureOf(workspaceId: string, { code, what, hint }: NonNullable<DrainFailing>): Error {
  const told = `Webhook events of ${workspaceId} wait in the spool, and are tried again until they can be applied. ${what}`
  if (code === 'UNEXPECTED') return new Error(told)
  return new ConvohouseError(code as ErrorCode, { what: told, ...(hint && { hint }) })
}

/** Tells what keeps events of a workspace from the tables, and when nothing does any more. */
export function reportDrainFailure(
  { failed, remark }: Pick<Displays, 'failed' | 'remark'>,
  workspaceId: string,
  failure: DrainFailing,
): void {
  if (failure) failed(workspaceId, failureOf(workspaceId, failure))
  else remark(`${workspaceId}: webhook events are applied again.`)
}
