// Kills the expiry of event payloads just before each deletion: a file is either there or recorded as expired.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { expireArchive } from '../../../src/spool/expire-archive.ts'
import { spoolFolders } from '../../../src/spool/folders.ts'
import { temporaryHome } from '../../landing/temporary-home.ts'
import { killedAtEachChange } from './killed-step.ts'

const EXPIRING = ['2026-11-18.1.ndjson.gz', '2026-11-19.1.ndjson.gz', '2026-11-19.2.ndjson.gz']
const KEPT = '2026-11-20.1.ndjson.gz'
const OPTIONS = { beforeMs: Date.UTC(2026, 10, 20), nowMs: 7, dryRun: false }

const STEP = `
import { expireArchive } from 'src/spool/expire-archive.js'
await expireArchive(process.env.HOME_UNDER_TEST, 'ws', ${JSON.stringify(OPTIONS)})
`

const filesIn = async (folder: string) => (await readdir(folder)).filter(name => name !== 'expired.ndjson').sort()

it('an expiry of event payloads that is killed before any deletion has recorded each file that is gone, and is completed by the next one', async () => {
  const home = await temporaryHome()
  await mkdir(spoolFolders(home, 'ws').drained, { recursive: true })
  for (const name of [...EXPIRING, KEPT]) await writeFile(join(spoolFolders(home, 'ws').drained, name), '12345')
  const kills = await killedAtEachChange(STEP, home, async (copy, { at, isKilled }) => {
    const { drained } = spoolFolders(copy, 'ws')
    const left = await filesIn(drained)
    expect(left).toHaveLength(isKilled ? EXPIRING.length + 2 - at : 1)
    expect(left).toContain(KEPT)
    const recorded = await readFile(join(drained, 'expired.ndjson'), 'utf8')
    for (const name of EXPIRING) if (!left.includes(name)) expect(recorded).toContain(name)
    await expireArchive(copy, 'ws', OPTIONS)
    expect(await filesIn(drained)).toEqual([KEPT])
  })
  expect(kills).toBe(EXPIRING.length)
})
