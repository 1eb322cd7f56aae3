// The record of refused webhooks: counts and times, which survive restarts of the receivers that share it.
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import { addRefused, readRefused, recordRefused, totalRefused } from '../../src/spool/refusal-record.ts'
import { temporaryHome } from '../landing/temporary-home.ts'

it('the record restarts after a day without a refusal, and keeps the earlier total', () => {
  const first = { workspaceId: 'one', reason: 'wrong-secret', count: 174, firstMs: 0, lastMs: 10 }
  const later = { ...first, count: 1, firstMs: DAY + 11, lastMs: DAY + 11 }
  const known = addRefused([first], [later])
  expect(known).toEqual([{ ...later, earlier: 174 }])
  expect(addRefused(known, [{ ...later, count: 2 }]).map(totalRefused)).toEqual([177])
})

it('the record is a file of its owner only, the latest first, and is empty if it is damaged', async () => {
  const home = await temporaryHome()
  expect(await readRefused(home)).toEqual([])
  const one = { workspaceId: 'one', reason: 'wrong-secret', count: 2, firstMs: 5, lastMs: 9 }
  const other = { workspaceId: null, reason: 'not-found', count: 1, firstMs: 20, lastMs: 20 }
  await recordRefused(home, [one])
  await recordRefused(home, [other])
  await recordRefused(home, [{ ...one, count: 3, lastMs: 11 }])
  expect(await readRefused(home)).toEqual([other, { ...one, count: 5, lastMs: 11 }])
  const file = join(home, 'spool', '.refused.json')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await writeFile(file, (await readFile(file, 'utf8')).slice(0, 20))
  expect(await readRefused(home)).toEqual([])
  await recordRefused(home, [one])
  expect(await readRefused(home)).toEqual([one])
  const elsewhere = await temporaryHome()
  await mkdir(elsewhere, { recursive: true })
  await writeFile(join(elsewhere, 'spool'), '')
  await expect(recordRefused(elsewhere, [one])).rejects.toThrow()
})
