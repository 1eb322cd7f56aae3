import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { expireArchive } from '../../src/spool/archive.ts'
import { spoolFolders } from '../../src/spool/folders.ts'
import { temporaryHome } from '../landing/temporary-home.ts'

it('event payloads of days that ended by then are counted, recorded and removed', async () => {
  const home = await temporaryHome()
  const { drained } = spoolFolders(home, 'ws')
  await mkdir(drained, { recursive: true })
  for (const name of [
    '2026-11-19.1.ndjson.gz',
    '2026-11-19.2.ndjson.gz',
    '2026-11-20.1.ndjson.gz',
    '2026-11-21.ndjson',
  ])
    await writeFile(join(drained, name), '12345')
  const options = { beforeMs: Date.UTC(2026, 10, 20), nowMs: 7 }
  const expired = { files: 2, bytes: 10 }
  expect(await expireArchive(home, 'ws', { ...options, dryRun: true })).toEqual(expired)
  expect(await readdir(drained)).toHaveLength(4)
  expect(await expireArchive(home, 'ws', { ...options, dryRun: false })).toEqual(expired)
  expect((await readdir(drained)).sort()).toEqual(['2026-11-20.1.ndjson.gz', '2026-11-21.ndjson', 'expired.ndjson'])
  expect(await expireArchive(home, 'ws', { ...options, dryRun: false })).toEqual({ files: 0, bytes: 0 })
})
