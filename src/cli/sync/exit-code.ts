// The exit code of a sync's outcome (docs/errors.md).
import type { SyncReport } from '../../../workflows/steps.ts'
import { ERRORS, EXIT_CODES } from '../../core/errors.ts'

const CODES: Record<Exclude<SyncReport['outcome'], 'failed'>, number> = {
  done: EXIT_CODES.ok,
  'limit-reached': EXIT_CODES.ok,
  preempted: EXIT_CODES.ok,
  'hour-spent': EXIT_CODES.hourSpent,
  'period-spent': EXIT_CODES.periodSpent,
  interrupted: EXIT_CODES.interrupted,
}

/** The exit code of a report; of a failed sync, that of its first failure. */
export function exitCodeOfReport({ outcome, failures }: SyncReport): number {
  if (outcome !== 'failed') return CODES[outcome]
  const [first] = failures
  return first ? ERRORS[first.code].exitCode : EXIT_CODES.unexpected
}

/** The exit code of several syncs: 130 if any was stopped on request, else the first that is not 0. */
export function exitCodeOfAll(codes: readonly number[]): number {
  if (codes.includes(EXIT_CODES.interrupted)) return EXIT_CODES.interrupted
  return codes.find(code => code !== EXIT_CODES.ok) ?? EXIT_CODES.ok
}
