// Files that killed processes leave in the data folder are removed by a later sync, but none that another process may still be writing.
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { HOUR } from '../../../src/core/time.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import { warehouseFile } from '../../../src/warehouse/open.ts'
import { spillFolder, temporaryFolder, writeCoerced } from '../../../src/warehouse/temporary-files.ts'
import { landedFile } from '../../landing/landed-file.ts'
import { syncedScenes } from '../scene.ts'

const synced = syncedScenes({ sandbox: { conversations: 20 } })

it('coerced copies, spilled files and half-written pages of killed processes are removed by a later sync', async () => {
  const { home, run } = await synced()
  const landing = openLanding(home).workspace('ws_demo')
  const before = await landing.list('conversations')
  await writeCoerced(temporaryFolder(home), [{ json: '{}' }])
  const spilled = spillFolder(warehouseFile(home))
  await mkdir(spilled, { recursive: true })
  await writeFile(join(spilled, 'duckdb_temp_storage_DEFAULT-0.tmp'), 'spilled')
  const pages = dirname(landedFile(home, before[0]!.address))
  const twoHoursAgo = new Date(Date.now() - 2 * HOUR)
  for (const name of ['.tmp-4242-0badcafe', '.tmp-4243-0badcafe']) await writeFile(join(pages, name), 'half a page')
  await utimes(join(pages, '.tmp-4242-0badcafe'), twoHoursAgo, twoHoursAgo)

  expect((await run(['sync', '--yes'])).code).toBe(0)
  const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])
  expect(await namesIn(temporaryFolder(home))).toEqual([])
  expect(await namesIn(spilled)).toEqual([])
  // A younger one may still be written.
  expect((await namesIn(pages)).filter(name => name.startsWith('.tmp'))).toEqual(['.tmp-4243-0badcafe'])
  expect(await landing.list('conversations')).toEqual(before)
})
