// Decides what a publication writes: the changes since the target's watermark, or all rows.
//
// A failing check that blocks a table stops publications to the targets that receive the table. Erasures, and changed
// `rows` or `pii`, are published nevertheless: from empty, with blocked tables empty until the check passes.
//
// A target has one owner: a data folder, by its random id, and the name of the target in its configuration. A
// publication refuses a target of another owner, since two owners would keep rewriting it from empty.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { placeOf, type TargetConfig } from '../config/targets.ts'
import { homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { ensureFile } from '../files/durable.ts'
import { consumers } from '../warehouse/changes/consumers.ts'
import { consumerOf, isIssued } from '../warehouse/changes/publications.ts'
import { type Changes, changesSince, type RefillReason } from '../warehouse/changes/read-changes.ts'
import type { Writer } from '../warehouse/connection.ts'
import type { Reader } from './reading.ts'
import { type Selection, selectionFor, settingsIn } from './selection.ts'
import type { TargetType } from './targets/target-type.ts'
import type { TargetWatermark } from './watermark.ts'

const idFile = (home: string): string => join(home, 'publish', 'id')

/** Returns `<id of the data folder>/<name of the target>`. Creates the id on first use. @throws HOME_UNUSABLE */
export async function ownerOf(home: string, target: string): Promise<string> {
  const file = idFile(home)
  await ensureFile(file, () => `${randomUUID()}\n`)
  const id = await readFile(file, 'utf8').catch(cause => {
    throw homeUnusable(file, cause)
  })
  return `${id.trim()}/${target}`
}

/**
 * Refuses a target of another owner. A target that was renamed in the configuration is accepted. With `refill`, the
 * user takes the target over from another data folder.
 * @throws TARGET_UNUSABLE if another target of the configuration or another data folder writes it
 */
export async function expectOwner(
  reader: Pick<Writer, 'rows'>,
  { target, stored, owner, refill }: { target: TargetConfig; stored: string; owner: string; refill: boolean },
): Promise<void> {
  const [id, ownId] = [stored, owner].map(text => text.split('/', 1)[0])
  const name = stored.slice(id!.length + 1)
  const refuse = (whose: string, hint: string) => {
    throw new ConvohouseError('TARGET_UNUSABLE', { what: `${placeOf(target)} is written by ${whose}.`, hint })
  }
  if (id !== ownId) {
    if (refill) return
    refuse(
      `the target ${name} of another data folder`,
      `Give one of the two another path or schema. If the other is gone for good, run \`convohouse publish ${target.name} --refill\`, which takes it over.`,
    )
  }
  if (name === target.name) return
  // Only configured targets are consumers.
  if ((await consumers(reader)).some(one => one.name === consumerOf(name)))
    refuse(`the target ${name}`, 'Give one of the two another path or schema: both names lead to the same place.')
}

export type Reason = RefillReason | 'requested' | 'memory' | 'unknown publication' | 'other policy' | 'erased records'

export interface Decision {
  selection: Selection
  /** Null for a refill. */
  changes: Changes | null
  reason: Reason | null
  to: { epoch: string; seq: number }
  policy: string
  /** True if the target must keep no earlier state. Refills may hide an erasure, since the log lacks its entries. */
  erases: boolean
}

interface Deciding {
  target: TargetConfig
  type: TargetType
  base: TargetWatermark | null
  key: Buffer | null
  /** A refill that is due regardless of the watermark. */
  wanted: 'requested' | 'memory' | null
}

/** True if the log contains an erasure's entry: no file of the target may keep the deleted values. */
async function hasErasure(reader: Reader, { from, to }: Changes): Promise<boolean> {
  const range = { after: from.seq, upTo: to.seq }
  const sql = `SELECT 1 FROM _changes WHERE op = 'delete' AND seq > $after AND seq <= $upTo LIMIT 1`
  return (await reader.rows(sql, range)).length > 0
}

const tablesText = ({ blocked }: Selection): string => [...blocked.keys()].sort().join(', ')

/** Returns the error of a blocked publication. `isEmptied`: the target was written, without the blocked tables' rows. */
export function blockedError(target: string, selection: Selection, isEmptied: boolean): ConvohouseError {
  const checks = [...new Set([...selection.blocked.values()].flat())].sort()
  const tables = tablesText(selection)
  const fail = checks.length === 1 ? `check ${checks[0]} fails` : `checks ${checks.join(', ')} fail`
  return new ConvohouseError('PUBLICATION_BLOCKED', {
    what: isEmptied
      ? `Rows or values of target ${target} must go, and the ${fail}: it was written from empty, without rows in ${tables}.`
      : `The ${fail}, which blocks ${tables}: target ${target} stays as it is.`,
    hint: `\`convohouse check ${checks[0]}\` shows the rows. Publications go on when ${checks.length === 1 ? 'it passes' : 'they pass'}.`,
  })
}

/** @throws PUBLICATION_BLOCKED if a check fails and the target may stay unchanged */
export async function decide(reader: Reader, { target, type, base, key, wanted }: Deciding): Promise<Decision> {
  const selection = await selectionFor(reader, { target, type, key })
  const { blocked } = selection
  const answer = await changesSince(reader, { name: consumerOf(target.name), watermark: base })
  const policies = [selection.policyOf(new Map()), selection.policyOf(blocked)] as const
  const changes = answer.kind === 'changes' ? answer : null
  const erases = changes !== null && (await hasErasure(reader, changes))
  const findReason = async (): Promise<Reason | null> => {
    if (wanted !== null) return wanted
    if (answer.kind === 'refill') return answer.reason
    if (!(await isIssued(reader, base!.publicationId))) return 'unknown publication'
    if (!policies.includes(base!.policy)) return 'other policy'
    return erases && (!type.erasesByDelta || blocked.size > 0) ? 'erased records' : null
  }
  const reason = await findReason()
  const mustGo = erases || (base !== null && settingsIn(base.policy) !== settingsIn(policies[0]))
  if (blocked.size > 0 && !mustGo) throw blockedError(target.name, selection, false)
  return reason === null
    ? { selection, changes, reason, to: answer.to, policy: policies[0], erases }
    : { selection, changes: null, reason, to: answer.to, policy: policies[1], erases: true }
}
