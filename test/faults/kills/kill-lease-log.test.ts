// Kills a merge of the lease log just before each change of its folder: before a file is closed, before the merged file gets its name, after
// it, between deletions.
import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DAY, HOUR } from '../../../src/core/time.ts'
import { openLeaseLog } from '../../../src/landing/folder-lease-log.ts'
import { NOW, request, USAGE } from '../../landing/lease-log-contract.ts'
import { temporaryHome } from '../../landing/temporary-home.ts'
import { isDeep } from '../../tier.ts'
import { killedStep } from './killed-step.ts'

const STEP = `
import { openLeaseLog } from 'src/landing/folder-lease-log.js'
await openLeaseLog({ home: process.env.HOME_UNDER_TEST, workspaceId: 'ws', run: 'merge' }).merge(${NOW + DAY})
`

/** Changes of the folder: 16 renames, `link` and `unlink` of the temporary file, 16 deletions. */
const KILLS = isDeep ? Array.from({ length: 34 }, (_, index) => index + 1) : [1, 9, 17, 18, 19, 27, 34]

const openIn = (home: string) => openLeaseLog({ home, workspaceId: 'ws', run: 'run' })

it('a merge of the lease log that is killed at any change of its folder loses and doubles no entry, and the next one completes it', async () => {
  const home = await temporaryHome()
  const leaseLog = openIn(home)
  const entries = Array.from({ length: 16 }, (_, index) => request(NOW - (15 - index) * HOUR, { usage: USAGE }))
  for (const entry of entries) await leaseLog.append(entry)
  await leaseLog.close()
  for (const at of [...KILLS, 35]) {
    const copy = join(await temporaryHome(), 'copy')
    await cp(home, copy, { recursive: true, preserveTimestamps: true })
    expect(await killedStep(STEP, { home: copy, at }), `change ${at}`).toBe(at < 35)
    const reader = openIn(copy)
    expect(await reader.recent(NOW, DAY), `killed before change ${at}`).toEqual(entries)
    await reader.merge(NOW + DAY)
    expect(await reader.recent(NOW, DAY)).toEqual(entries)
    const names = await readdir(join(copy, 'landing/ws/ledger'))
    const files = names.filter(name => !name.startsWith('.tmp-'))
    // Before the first change there is nothing to continue: later merges wait for enough files again.
    expect(files.length).toBeLessThanOrEqual(at > 1 && at < 17 ? 16 - at + 2 : 1)
  }
})
