// This machine's clock against the vendor's, as its one answer tells it.
import { formatDuration, SECOND } from '../../core/time.ts'
import { aheadBy, type Dated } from '../../steps/server-clock.ts'
import { type Finding, ok, skip, warn } from './findings.ts'

/** Beyond this a clock is not just ticking a little differently. */
const A_FEW_SECONDS_MS = 5 * SECOND

const HINTS =
  "Let the machine set its clock by the network (NTP). Meanwhile windows end by the vendor's clock, as its list of agents " +
  "tells it, so nothing is skipped or bought twice; ages such as --since 30d and all times shown go by this machine's."

/** `told` is null where no answer came. */
export function clockFinding(workspaceId: string, told: Dated | null): Finding {
  const subject = { check: 'clock', workspaceId }
  const aheadMs = told && aheadBy(told)
  if (aheadMs === null) return skip(subject, 'not compared: the vendor told no time')
  if (Math.abs(aheadMs) <= A_FEW_SECONDS_MS) return ok(subject, "agrees with the vendor's, to a few seconds")
  const behind = aheadMs > 0 ? 'behind' : 'ahead of'
  return warn(subject, `is ${formatDuration(Math.abs(aheadMs))} ${behind} the vendor's`, HINTS)
}
