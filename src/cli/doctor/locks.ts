// Locks, and what a process that was killed left lying about. The lock itself is the system's, and dies with its holder.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { REBUILT } from '../../run/rebuild.ts'
import { warehouseFile } from '../../warehouse/open.ts'
import { fileSize } from '../status/sizes.ts'
import { bytes } from '../terminal/words.ts'
import { examine, type Finding, ok, skip, warn } from './findings.ts'
import { type Holding, holderText } from './holder.ts'

const SUBJECT = { check: 'locks' }

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** What is there only because somebody was killed, and whoever comes next takes in or removes. */
async function leftovers(home: string): Promise<string[]> {
  const [socket, log] = await Promise.all([isThere(join(home, 'query.sock')), isThere(`${warehouseFile(home)}.wal`)])
  return [...(socket ? ['its socket'] : []), ...(log ? ['its last commits in the log'] : [])]
}

export function locksCheck(home: string, holding: Holding | null): Promise<Finding[]> {
  return examine(SUBJECT, async () => {
    if (holding === null) return [skip(SUBJECT, 'not told: the warehouse does not open')]
    if (holding.state === 'held') return [ok(SUBJECT, `held by ${holderText(holding.pid)}: another sync waits for it`)]
    const halfBuilt = await fileSize(warehouseFile(home, REBUILT))
    if (halfBuilt > 0) {
      const hint = '`convohouse replay` begins anew and removes it; the old warehouse is as it was.'
      return [warn(SUBJECT, `${REBUILT} (${bytes(halfBuilt)}) of a replay that was killed`, hint)]
    }
    const left = await leftovers(home)
    if (left.length === 0) return [ok(SUBJECT, 'nobody holds the warehouse')]
    return [
      ok(
        SUBJECT,
        `nobody holds the warehouse; a killed process left ${left.join(' and ')}, which the next sync takes up`,
      ),
    ]
  })
}
