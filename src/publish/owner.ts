// The owner of a target: a data folder, by its random id, and the name of the target in its configuration. A publication refuses a target of
// another owner: two owners would write it from empty again and again.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { placeOf, type TargetConfig } from '../config/targets.ts'
import { homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { ensureFile } from '../files/durable.ts'
import { consumers } from '../warehouse/changes/consumers.ts'
import { consumerOf } from '../warehouse/changes/publications.ts'
import type { Writer } from '../warehouse/connection.ts'

const idFile = (home: string): string => join(home, 'publish', 'id')

/** `<id of the data folder>/<name of the target>`. The id is created at its first use. @throws HOME_UNUSABLE */
export async function ownerOf(home: string, target: string): Promise<string> {
  const file = idFile(home)
  await ensureFile(file, () => `${randomUUID()}\n`)
  const id = await readFile(file, 'utf8').catch(cause => {
    throw homeUnusable(file, cause)
  })
  return `${id.trim()}/${target}`
}

/**
 * A target that was renamed in the configuration has another owner, who may go on. `refill`: the user has asked to write the target from empty,
 * and so to take it over from another data folder.
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
