// Checks the targets of publications: that each can be written, that the last publication succeeded and is recent, and the key of hashes.
import { isRemote } from '../../config/targets.ts'
import type { Config } from '../../config.ts'
import { ConvohouseError, ERRORS, type ErrorCode } from '../../core/errors.ts'
import { formatDuration, HOUR, SECOND } from '../../core/time.ts'
import { ago, counted } from '../../core/words.ts'
import { hasHashKey, needsKey } from '../../publish/pii.ts'
import { type TargetStatus, targetStatuses } from '../../reports/publications.ts'
import type { Rows } from '../../warehouse/query/rows.ts'
import { filterText, lackText } from '../status/target-text.ts'
import { examine, type Finding, fail, ok, warn } from './findings.ts'
import { placeFindings } from './target-places.ts'

const SUBJECT = { check: 'targets' }

/** A target that lags by more publications than this is reported. */
const LATE_PUBLICATIONS = 4

/** The finding about the last publication, if it failed: what passes by itself is a warning. */
function failureFinding({ target, failure }: TargetStatus, nowMs: number): Finding[] {
  if (failure === null) return []
  const { code, what, hint, attempts, since } = failure
  const times = attempts > 1 ? ` (${counted(attempts, 'attempt')} since ${ago(Date.parse(since), nowMs)})` : ''
  const found = `${target}: the last publication failed${times}: ${what}`
  const known: ErrorCode = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'PUBLICATION_FAILED'
  const next = hint ?? '`convohouse publish` tries again.'
  if (ERRORS[known].kind === 'transient') return [warn(SUBJECT, found, next)]
  return [fail(SUBJECT, new ConvohouseError(known, { what: found, hint: next }))]
}

function lagFinding(status: TargetStatus, { everyMs, nowMs }: { everyMs: number; nowMs: number }): Finding {
  const { target, type, place, data, asOf, lagSeconds, isGone } = status
  if (asOf === null) return ok(SUBJECT, `${target}: not published to yet; \`convohouse publish\` does`)
  const found = `${target}: ${lackText(status)}; published ${ago(Date.parse(asOf), nowMs)}`
  if (isGone && type === 'ducklake')
    return warn(
      SUBJECT,
      found,
      `Restore ${place} or ${data}, or mount their disk again. If one is gone for good, remove the other: the next publication fills a new lake.`,
    )
  if (isGone)
    return warn(SUBJECT, found, `Run \`convohouse publish\`, or mount the disk of ${place} again, if it is on one.`)
  const lateMs = Math.max(HOUR, LATE_PUBLICATIONS * everyMs)
  if ((lagSeconds ?? 0) * SECOND <= lateMs) return ok(SUBJECT, found)
  const hint = `\`sync --watch\`, \`up\` and \`worker\` publish every ${formatDuration(everyMs)}; after a single \`sync\`, run \`convohouse publish\`.`
  return warn(SUBJECT, found, hint)
}

/** Warns of ids that are most likely mistyped: the target has no rows of theirs. */
function filterFindings(status: TargetStatus): Finding[] {
  const text = filterText(status)
  const hint =
    'Correct `rows` of the target. An id is also right, if the vendor no longer has it or has assigned it no agents.'
  return text === null ? [] : [warn(SUBJECT, `${status.target}: ${text}`, hint)]
}

/** Warns if published hashes can no longer be made: the next publication would create another key. */
async function keyFindings({ home, targets }: Config, statuses: readonly TargetStatus[]): Promise<Finding[]> {
  const isPublished = (name: string) => statuses.some(({ target, asOf }) => target === name && asOf !== null)
  const hashed = targets.filter(({ name, pii }) => needsKey(pii) && isPublished(name))
  if (hashed.length === 0 || (await hasHashKey(home))) return []
  const found = `the key of hashes (publish/hash-key in ${home}) is missing, although hashes have been published to ${hashed.map(({ name }) => name).join(', ')}`
  const hint =
    'Restore it from a backup. Else the next publication creates another key: all hashes change, and targets are written from empty.'
  return [warn(SUBJECT, found, hint)]
}

interface TargetChecks {
  config: Config
  /** Null without a warehouse that answers. */
  rows: Rows | null
  nowMs: number
  offline: boolean
}

export function targetChecks({ config, rows, nowMs, offline }: TargetChecks): Promise<Finding[]> {
  return examine(SUBJECT, async () => {
    const statuses = await targetStatuses(rows, config.targets, nowMs)
    const found: Finding[] = []
    for (const [index, target] of config.targets.entries()) {
      const status = statuses[index]!
      const failed = failureFinding(status, nowMs)
      // An error of a folder is that of its last publication.
      const place =
        failed.length > 0 && !isRemote(target) && target.type !== 'ducklake'
          ? []
          : await placeFindings(SUBJECT, { config, target, offline })
      const own = [...failed, ...place, ...filterFindings(status)]
      const isWrong = own.some(({ state }) => state === 'fail' || state === 'warn')
      found.push(...own, ...(isWrong ? [] : [lagFinding(status, { everyMs: config.publish.everyMs, nowMs })]))
    }
    return [...found, ...(await examine(SUBJECT, () => keyFindings(config, statuses)))]
  })
}
