// Refusals are logged, the first at once and later ones as a count, and are stored as soon as the disk accepts writes.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { RefusalReport } from '../../src/receiver/refusal-report.ts'
import { type Refused, readRefused } from '../../src/spool/refusal-record.ts'
import { temporaryHome } from '../landing/temporary-home.ts'

const NEVER = 2 ** 30

function newReport(home: string, every: { logEveryMs?: number; recordEveryMs?: number } = {}) {
  const lines: Refused[] = []
  let nowMs = 1_000
  const now = () => nowMs++
  const report = new RefusalReport({
    home,
    log: line => lines.push(line),
    now,
    logEveryMs: NEVER,
    recordEveryMs: NEVER,
    ...every,
  })
  return { report, lines }
}

it('the first refusal of a kind is logged at once, and 173 more as one line with a count', async () => {
  const home = await temporaryHome()
  const { report, lines } = newReport(home)
  for (let times = 0; times < 174; times++) report.refuse('wrong-secret', 'ws')
  report.refuse('not-found', null)
  expect(lines.map(({ workspaceId, reason, count }) => [workspaceId, reason, count])).toEqual([
    ['ws', 'wrong-secret', 1],
    [null, 'not-found', 1],
  ])
  await report.close()
  expect(lines.slice(2)).toEqual([
    { workspaceId: 'ws', reason: 'wrong-secret', count: 173, firstMs: expect.any(Number), lastMs: expect.any(Number) },
  ])
  expect(lines[2]!.firstMs).toBeGreaterThan(lines[0]!.lastMs)
  expect((await readRefused(home)).map(({ reason, count }) => [reason, count])).toEqual([
    ['not-found', 1],
    ['wrong-secret', 174],
  ])
})

it('lines and records are written again by a timer', async () => {
  const home = await temporaryHome()
  const { report, lines } = newReport(home, { logEveryMs: 30, recordEveryMs: 10 })
  for (let times = 0; times < 10; times++) report.refuse('wrong-secret', 'ws')
  const logged = () => lines.reduce((sum, { count }) => sum + count, 0)
  await expect.poll(logged, { timeout: 300_000 }).toBe(10)
  await expect.poll(async () => (await readRefused(home))[0]?.count, { timeout: 300_000 }).toBe(10)
  expect(lines.length).toBeLessThan(10)
  await report.close()
})

it('refusals that a full disk does not accept are recorded with the next ones', async () => {
  const home = await temporaryHome()
  await mkdir(home, { recursive: true })
  await writeFile(join(home, 'spool'), '')
  const { report } = newReport(home, { recordEveryMs: 1 })
  report.refuse('wrong-secret', 'ws')
  await new Promise(resolve => setTimeout(resolve, 30))
  await rm(join(home, 'spool'))
  report.refuse('wrong-secret', 'ws')
  await report.close()
  expect(await readRefused(home)).toMatchObject([{ workspaceId: 'ws', reason: 'wrong-secret', count: 2 }])
})
