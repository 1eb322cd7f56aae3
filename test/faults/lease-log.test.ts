import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SimulatedApp } from '../workflows/simulated/open-simulated-app.ts'
import { isProbe } from '../workflows/simulated/probe.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

const SMALL_PAGES = { maxPage: 10 }

const folderOf = ({ config }: SimulatedApp): string => join(config.home, 'landing', 'ws_demo', 'ledger')

async function eachFile(simulated: SimulatedApp, damage: (file: string) => Promise<unknown>): Promise<void> {
  for (const name of await readdir(folderOf(simulated))) await damage(join(folderOf(simulated), name))
}

const halfOf = async (file: string) => {
  const text = await readFile(file)
  return writeFile(file, text.subarray(0, text.length / 2))
}

const GARBAGE = [
  'null',
  '42',
  '"text"',
  '[]',
  '{}',
  '{"kind":"request"}',
  '{"kind":"lease","atMs":"x"}',
  '\u0000\u0001{{{',
  '',
]

/** Cuts each file in the middle of a line, and appends lines of garbage, empty ones included. */
const garble = (simulated: SimulatedApp) =>
  eachFile(simulated, async file => {
    await halfOf(file)
    await appendFile(file, `\n${GARBAGE.join('\n')}\n`)
  })

describe('a lease log', () => {
  it('that is truncated, with lines of garbage after it, or deleted permits no spending beyond rate limit and quota; one that cannot be read is reported before anything is exported', async () => {
    const sandbox = { conversations: 200, historyDays: 2_000, quotaSessions: 220, hourlyRequests: 25 }
    const simulated = await simulatedApp({ sandbox, settings: SMALL_PAGES, loadMs: 60_000 })
    const exported: number[] = []
    for (const maxRequests of [8, 4, null]) {
      const { outcome } = await simulated.sync({ wait: maxRequests === null, maxRequests })
      expect(outcome).toBe(maxRequests === null ? 'period-spent' : 'limit-reached')
      exported.push((await simulated.exported()).length)
      if (maxRequests === 4) {
        await rm(folderOf(simulated), { recursive: true })
        const unreadable = join(folderOf(simulated), '20260101T000000000Z-folder.ndjson')
        await mkdir(unreadable, { recursive: true })
        await expect(simulated.sync()).rejects.toMatchObject({ code: 'HOME_UNUSABLE', exitCode: 6 })
        expect((await simulated.exported()).length).toBe(exported.at(-1))
        await rm(unreadable, { recursive: true })
      } else await garble(simulated)
    }
    expect([0 < exported[0]!, exported[0]! < exported[1]!, exported[1]! < exported[2]!]).toEqual([true, true, true])
    const served = await simulated.served()
    expect(served.filter(request => request.status !== 200)).toEqual([])
    expect(await simulated.usage()).toMatchObject({ overageUsedThisPeriod: 0, overagePacksCharged: 0 })
    const cursors = (await simulated.exported()).flatMap(({ query }) => query.cursor ?? [])
    expect(new Set(cursors).size).toBe(cursors.length)
    // Only the first run had to probe for the billing period, because the warehouse also stores it.
    expect(served.filter(isProbe).length).toBeGreaterThanOrEqual(1)
  })
})
