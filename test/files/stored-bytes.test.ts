import { appendFile, mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bytesBelow } from '../../src/files/stored-bytes.ts'
import { temporaryHome } from '../landing/temporary-home.ts'

it('bytes below a folder are counted again only in folders that have changed', async () => {
  const home = await temporaryHome()
  const [quiet, busy] = [join(home, 'quiet'), join(home, 'a', 'busy')]
  for (const folder of [quiet, busy]) await mkdir(folder, { recursive: true })
  await writeFile(join(quiet, '1'), 'x'.repeat(100))
  await writeFile(join(busy, '1'), 'x'.repeat(10))
  const longAgo = new Date(Date.now() - 60_000)
  for (const folder of [quiet, busy, join(home, 'a'), home]) await utimes(folder, longAgo, longAgo)
  const bytes = bytesBelow()
  expect(await bytes(join(home, 'nowhere'))).toBe(0)
  expect(await bytes(home)).toBe(110)
  await writeFile(join(busy, '2'), 'x'.repeat(5))
  // Appending does not change the folder's timestamp, so this uncounted byte proves that the folder is not read again.
  await appendFile(join(quiet, '1'), 'x')
  expect(await bytes(home)).toBe(115)
  await rm(busy, { recursive: true })
  expect(await bytes(home)).toBe(100)
})
