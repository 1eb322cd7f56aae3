// Checks the targets of publications: can each be written, was the last publication successful and recent, is the hash key there.
import { existsSync } from 'node:fs'
import { placeOf, type TargetConfig } from '../../config/targets.ts'
import type { Config } from '../../config.ts'
import { ConvohouseError, ERRORS, type ErrorCode, isCode } from '../../core/errors.ts'
import { formatDuration, MINUTE } from '../../core/time.ts'
import { ago, counted } from '../../core/words.ts'
import { hasHashKey, needsKey } from '../../publish/pii.ts'
import { probeTarget } from '../../publish/target-client.ts'
import { extensionPlaces } from '../../publish/target-database.ts'
import { typeOf } from '../../publish/targets/target-types.ts'
import { overdueTarget } from '../../reports/freshness.ts'
import { filterText, type TargetStatus, targetStatuses } from '../../reports/publications.ts'
import { temporaryFolder } from '../../warehouse/temporary-files.ts'
import { warehouseFile } from '../../warehouse/warehouse-file.ts'
import { lackText } from '../status/status-text.ts'
import { type Check, exposed, fail, type Outcome, ok, outcomesOf, overdue, skip, warn } from './check.ts'
import { expectWritable } from './storage.ts'

export const targets: Check = async ({ config, rows, answers, nowMs, maxAgeMs, offline }) => {
  const statuses = await targetStatuses(answers ? rows : null, config.targets, nowMs)
  const isUnread = !answers && existsSync(warehouseFile(config.home))
  const found: Outcome[] = []
  for (const [index, target] of config.targets.entries()) {
    const status = statuses[index]!
    const failed = failureOf(status, nowMs)
    // For a folder, the last publication has already reported the error.
    const isKnown = failed.length > 0 && typeOf(target).probe(target) === null
    const place = isKnown ? [] : await placeFindings({ config, target, offline })
    const open = await exposed(`${target.name}: its credentials are in the file`, secretFilesOf(target))
    const own = [...failed, ...place, ...open, ...filterOf(status), ...unfitOf(status)]
    const isWrong = own.some(({ state }) => state === 'fail' || state === 'warn')
    const lag = isUnread
      ? skip(`${target.name}: its last publication is not checked, since the warehouse cannot be read`)
      : lagOf(status, nowMs)
    const old = overdueTarget(status, { everyMs: config.publish.everyMs, nowMs, maxAgeMs }).map(overdue)
    found.push(...own, ...old, ...(isWrong || (old.length > 0 && !status.isGone) ? [] : [lag]))
  }
  return [...found, ...(await outcomesOf(() => keyOf(config, statuses)))]
}

/** Reports the last publication if it failed; a transient failure is only a warning. */
function failureOf({ target, failure }: TargetStatus, nowMs: number): Outcome[] {
  if (failure === null) return []
  const { code, what, hint, attempts, since } = failure
  const times = attempts > 1 ? ` (${counted(attempts, 'attempt')} since ${ago(Date.parse(since), nowMs)})` : ''
  const found = `${target}: the last publication failed${times}: ${what}`
  const known: ErrorCode = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'PUBLICATION_FAILED'
  const next = hint ?? '`convohouse publish` tries again.'
  if (ERRORS[known].kind === 'transient') return [warn(found, next)]
  return [fail(new ConvohouseError(known, { what: found, hint: next }))]
}

function lagOf(status: TargetStatus, nowMs: number): Outcome {
  const { target, place, asOf, isGone } = status
  if (asOf === null) return ok(`${target}: not published to yet; \`convohouse publish\` does`)
  const found = `${target}: ${lackText(status)}; published ${ago(Date.parse(asOf), nowMs)}`
  if (isGone) return warn(found, `Run \`convohouse publish\`, or mount the disk of ${place} again, if it is on one.`)
  return ok(found)
}

/** Returns the files with passwords and keys of the target. */
function secretFilesOf(target: TargetConfig): string[] {
  const server = target.type === 'ducklake' ? target.catalog : target
  return [
    'passwordFile' in server ? server.passwordFile : null,
    's3' in target ? (target.s3?.credentialsFile ?? null) : null,
  ].filter(file => file !== null)
}

/** Warns of ids that are probably mistyped: they select no rows of the target. */
function filterOf(status: TargetStatus): Outcome[] {
  const text = filterText(status)
  const hint =
    'Correct `rows` or `pii` of the target. An id is also right, if the vendor no longer has it or has assigned it no agents.'
  return text === null ? [] : [warn(`${status.target}: ${text}`, hint)]
}

/** Warns of tables that are not published. */
function unfitOf({ target, unfit }: TargetStatus): Outcome[] {
  const hint = 'Change the model, or give the target another type or `partitionBy`.'
  return unfit === null ? [] : [warn(`${target}: it cannot hold ${unfit}`, hint)]
}

/** Warns if the key of published hashes is lost: the next publication would create another key. */
async function keyOf({ home, targets }: Config, statuses: readonly TargetStatus[]): Promise<Outcome[]> {
  const isPublished = (name: string) => statuses.some(({ target, asOf }) => target === name && asOf !== null)
  const hashed = targets.filter(({ name, pii }) => needsKey(pii) && isPublished(name))
  if (hashed.length === 0 || (await hasHashKey(home))) return []
  const found = `the key of hashes (publish/hash-key in ${home}) is missing, although hashes have been published to ${hashed.map(({ name }) => name).join(', ')}`
  const hint =
    'Restore it from a backup. Else the next publication creates another key: all hashes change, and targets are written from empty.'
  return [warn(found, hint)]
}

interface PlaceOptions {
  config: Config
  target: TargetConfig
  /** True to make no connection. */
  offline: boolean
  /** The program of the target's process. */
  entry?: URL
}

/** Tests that a target's folder can be written, and that its server and extension can be used. */
export async function placeFindings(options: PlaceOptions): Promise<Outcome[]> {
  const { target, offline } = options
  const unwritable = await folderFindings(target)
  if (unwritable.length > 0 || typeOf(target).probe(target) === null) return unwritable
  if (offline) return [skip(`${target.name}: connection and extensions not checked (--offline)`)]
  return [await probe(options)]
}

const unusable = (what: string, hint: string, cause?: unknown): ConvohouseError =>
  new ConvohouseError('TARGET_UNUSABLE', { what, hint, cause })

async function folderFindings(target: TargetConfig): Promise<Outcome[]> {
  try {
    const folder = await typeOf(target).folder(target)
    if (folder !== null) await expectWritable(folder)
    return []
  } catch (cause) {
    const hint = 'Make the folder of the target writable, or give the target another path.'
    return [fail(unusable(`${target.name}: ${(cause as Error).message}`, hint, cause))]
  }
}

/** Noticing that a server does not answer takes 15 seconds; downloading the extension takes longer. */
const PROBE_MS = 2 * MINUTE

/** Probes the target from a separate process, as a publication does. */
async function probe({ config, target, entry }: PlaceOptions): Promise<Outcome> {
  const { home, threads, publish, extensions } = config
  const limit = new AbortController()
  const late = unusable(
    `${placeOf(target)} did not answer within ${formatDuration(PROBE_MS)}.`,
    "Check that its server runs, and the address in the target's settings; and the access to the network.",
  )
  const timer = setTimeout(() => limit.abort(late), PROBE_MS)
  const limits = { memoryLimit: publish.memoryLimit, threads, spillFolder: temporaryFolder(home) }
  try {
    const settings = { target, extensions: extensionPlaces(home, extensions), ...limits }
    const found = await probeTarget(settings, { signal: limit.signal, entry })
    return ok(`${target.name}: ${placeOf(target)} can be written (${found})`)
  } catch (cause) {
    const { code, message, hint } = isCode(cause, 'PUBLICATION_FAILED')
      ? unusable(cause.message, 'Run `convohouse publish` for the reason.')
      : (cause as ConvohouseError)
    return fail(new ConvohouseError(code, { what: `${target.name}: ${message}`, ...(hint && { hint }) }))
  } finally {
    clearTimeout(timer)
  }
}
