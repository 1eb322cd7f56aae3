// Pages that were deleted from the landing (because they were unreadable, for example) while no warehouse holds their records.
import { readFile, rm, truncate, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openApp } from '../../../src/app.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import { replay } from '../../../src/run/replay.ts'
import { warehouseFile } from '../../../src/warehouse/open.ts'
import { landedFile } from '../../landing/landed-file.ts'
import { isDeep, rounds } from '../../tier.ts'
import { expectedTables } from '../simulated/expected-rows.ts'
import { openSimulatedApp, type SimulatedApp, START_MS, WORKSPACE } from '../simulated/open-simulated-app.ts'
import { simulatedApp } from '../simulated/simulated-app.ts'
import { readThrough, truthOf } from '../simulated/truth.ts'
import { asLines, warehouseTables } from '../simulated/warehouse-tables.ts'

const SETTLE_MS = 120_000

/** Number of runs with randomly deleted pages. Deep tier only: npm test covers random deletions in test/faults/landing.test.ts. */
const RUNS = rounds('LOST_RUNS', { usual: 0, deep: 30 })

const truth = ({ sandbox }: SimulatedApp) =>
  asLines(expectedTables(truthOf(sandbox, { throughMs: readThrough(START_MS, SETTLE_MS) })))

interface Lost {
  sessions: number
  windows: number
}

/** Deletes the chosen pages of conversations; returns the sessions billed for them and the number of windows they belong to. */
async function deletePages({ config }: SimulatedApp, which: (index: number, of: number) => boolean): Promise<Lost> {
  const landing = openLanding(config.home).workspace(WORKSPACE)
  const pages = await landing.list('conversations')
  const lost = pages.filter((_, index) => which(index, pages.length))
  let sessions = 0
  for (const { address: path } of lost) {
    sessions += (await landing.head(path)).facts?.billed ?? 0
    await rm(landedFile(config.home, path))
  }
  return {
    sessions,
    windows: new Set(lost.map(({ address: path, window }) => `${path.split('/').at(-3)} ${window}`)).size,
  }
}

const withoutWarehouse = async (simulated: SimulatedApp): Promise<void> => {
  await simulated.close()
  await rm(warehouseFile(simulated.config.home), { force: true })
  await rm(`${warehouseFile(simulated.config.home)}.wal`, { force: true })
}

const billed = async (simulated: SimulatedApp): Promise<number> => (await simulated.usage()).billableUsedThisPeriod

/** Syncs until nothing is left to read. */
async function syncAll(simulated: SimulatedApp): Promise<void> {
  await simulated.restart()
  const report = await simulated.sync()
  expect(report).toMatchObject({ outcome: 'done', windowsLeft: 0, failures: [] })
}

async function tablesOf(simulated: SimulatedApp): Promise<Record<string, string[]>> {
  const app = await openApp({ config: simulated.config })
  try {
    return asLines(await warehouseTables(app.warehouse.writer.rows))
  } finally {
    await app.close()
  }
}

/**
 * Expects that a sync exports the lost records again with little overhead, that the next sync bills nothing, and that a replay of
 * the landing yields all rows.
 */
async function expectRecovered(simulated: SimulatedApp, lost: Lost, pageSize: number): Promise<void> {
  const before = await billed(simulated)
  await syncAll(simulated)
  const again = (await billed(simulated)) - before
  expect(again).toBeGreaterThanOrEqual(Math.min(lost.sessions, 1))
  expect(again).toBeLessThanOrEqual(lost.sessions + lost.windows * pageSize)
  expect(asLines(await warehouseTables(simulated.rows))).toEqual(truth(simulated))
  await simulated.sync()
  expect((await billed(simulated)) - before).toBe(again)
  await withoutWarehouse(simulated)
  await replay({ config: simulated.config })
  expect(await tablesOf(simulated)).toEqual(truth(simulated))
}

const pageSizeOf = (simulated: SimulatedApp, size: number): void => {
  simulated.config.workspaces[0]!.maxPage = size
}

describe('a deleted page', () => {
  const CASES: [string, number, number, (index: number, of: number) => boolean][] = [
    ['every other one, with smaller pages since', 30, 20, index => index % 2 === 0],
    ['the first', 20, 20, index => index === 0],
    ['one in the middle, with smaller pages since', 50, 20, index => index === 2],
    ['every other one', 20, 20, index => index % 2 === 0],
    ['one in the middle', 20, 20, index => index === 5],
    ['the last', 20, 20, (index, of) => index === of - 1],
    ['one in the middle, with larger pages since', 20, 50, index => index === 3],
    ['every one', 50, 50, () => true],
  ]
  // Deep tier only: npm test deletes pages of finished windows in test/faults/landing.test.ts.
  it.runIf(isDeep).each(CASES)('is exported again with little overhead: %s', async (_, size, then, which) => {
    const simulated = await simulatedApp({ sandbox: { conversations: 160, agents: 2 }, settings: { maxPage: size } })
    await simulated.sync()
    await withoutWarehouse(simulated)
    const lost = await deletePages(simulated, which)
    pageSizeOf(simulated, then)
    await expectRecovered(simulated, lost, Math.max(size, then))
  })

  it('is exported again in an unfinished window that restarted with another page size', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 150, agents: 1 }, settings: { maxPage: 30 } })
    await simulated.sync({ maxRequests: 3 })
    pageSizeOf(simulated, 10)
    await simulated.sync({ maxRequests: 4 })
    await withoutWarehouse(simulated)
    // Deletes the last page of the first generation, at whose end the second generation began, and a page of the second one.
    const lost = await deletePages(simulated, index => index === 2 || index === 4)
    const all = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, SETTLE_MS) })
    const remaining = all.reduce((sum, one) => sum + one.billableSessions, 0) - (await billed(simulated))
    await expectRecovered(simulated, { ...lost, sessions: lost.sessions + remaining }, 30)
  })

  // Deep tier only: npm test covers each kind of damage in test/faults/landing.test.ts.
  it.runIf(isDeep).each(['truncated', 'overwritten'] as const)(
    'is exported again after it was %s and reported as corrupt',
    async how => {
      const simulated = await simulatedApp({ sandbox: { conversations: 120, agents: 1 }, settings: { maxPage: 20 } })
      await simulated.sync()
      await withoutWarehouse(simulated)
      const landing = openLanding(simulated.config.home).workspace(WORKSPACE)
      const page = (await landing.list('conversations'))[4]!
      const sessions = (await landing.head(page.address)).facts!.billed!
      const file = landedFile(simulated.config.home, page.address)
      const bytes = await readFile(file)
      if (how === 'truncated') await truncate(file, bytes.length - 20)
      else await writeFile(file, bytes.fill(0x20, bytes.length - 200))
      await simulated.restart()
      const before = await billed(simulated)
      const report = await simulated.sync()
      expect(report.failures).toEqual([expect.objectContaining({ code: 'LANDING_CORRUPT' })])
      expect(await billed(simulated)).toBe(before)
      await rm(file)
      await simulated.close()
      await expectRecovered(simulated, { sessions, windows: 1 }, 20)
    },
  )

  it.runIf(RUNS > 0)(
    'is exported again with little overhead, for random pages and page sizes',
    { timeout: 900_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            seed: fc.integer({ min: 1, max: 1_000 }),
            ts: fc.constantFrom('created' as const, 'activity' as const),
            sizes: fc.array(fc.integer({ min: 3, max: 60 }), { minLength: 1, maxLength: 4 }),
            requests: fc.integer({ min: 2, max: 9 }),
            finished: fc.boolean(),
            after: fc.integer({ min: 3, max: 60 }),
            kept: fc.array(fc.boolean(), { minLength: 5, maxLength: 40 }),
          }),
          async ({ seed, ts, sizes, requests, finished, after, kept }) => {
            const { simulated, end } = await openSimulatedApp({
              sandbox: { conversations: 160, agents: 2, seed, ts },
            })
            try {
              for (const size of sizes) {
                pageSizeOf(simulated, size)
                await simulated.sync({ maxRequests: requests })
              }
              if (finished) await simulated.sync()
              await withoutWarehouse(simulated)
              const lost = await deletePages(simulated, index => !kept[index % kept.length]!)
              pageSizeOf(simulated, after)
              const { billableUsedThisPeriod: before } = await simulated.usage()
              const held = before - lost.sessions
              await simulated.restart()
              await simulated.sync()
              const { billableUsedThisPeriod: billedBy } = await simulated.usage()
              expect(asLines(await warehouseTables(simulated.rows))).toEqual(truth(simulated))
              const all = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, SETTLE_MS) })
              const size = Math.max(...sizes, after)
              const remaining = all.reduce((sum, one) => sum + one.billableSessions, 0) - held
              expect(billedBy - before).toBeLessThanOrEqual(Math.max(0, remaining) + (lost.windows + 2) * size)
              await withoutWarehouse(simulated)
              await replay({ config: simulated.config })
              expect(await tablesOf(simulated)).toEqual(truth(simulated))
            } finally {
              await end()
            }
          },
        ),
        { numRuns: RUNS, seed: 20261120 },
      )
    },
  )
})
