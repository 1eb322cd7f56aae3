// A warehouse, its replay, and a replay of its landing and spool in another folder are equal in every column of every table.

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openApp } from '../../src/app.ts'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import type { Config } from '../../src/config.ts'
import { HOUR } from '../../src/core/time.ts'
import { replay } from '../../src/run/replay.ts'
import { HOSTILE_NAMES } from '../../src/sandbox/hostile/hostility.ts'
import { isDeep } from '../tier.ts'
import { everyColumn } from '../workflows/simulated/every-column.ts'
import { openSimulatedApp, type SimulatedApp, START_MS } from '../workflows/simulated/open-simulated-app.ts'
import { openEventSender } from '../workflows/simulated/simulated-events.ts'

const tablesAt = async (config: Config): Promise<Record<string, string[]>> => {
  const app = await openApp({ config })
  try {
    return await everyColumn(app.warehouse.writer.rows)
  } finally {
    await app.close()
  }
}

/** Simulates days in which conversations change, events report changes, ids are exported again, and an agent is deleted. */
async function simulateDays(simulated: SimulatedApp, steps: readonly Step[]): Promise<void> {
  const { sandbox } = simulated
  const eventSender = openEventSender(simulated, { dropped: 0.1 })
  const agents = sandbox.world.agentIds()
  let sentMs = START_MS
  for (const { hours, gone, drainFirst, ids } of steps) {
    simulated.advance(hours * HOUR)
    sandbox.conditions.set({ gone: gone ? [agents[1]!] : [] })
    const untilMs = sandbox.clock.now()
    await eventSender.send(sentMs, untilMs)
    sentMs = untilMs
    if (drainFirst) await simulated.drain()
    await simulated.sync()
    const known = await simulated.rows<{ id: string }>(
      `SELECT conversation_id AS id FROM conversations WHERE agent_id = '${agents[0]!}' AND NOT contains(conversation_id, ',') ORDER BY id LIMIT ${ids}`,
    )
    if (ids > 0)
      await simulated.sync({
        mode: 'selected',
        ids: [[agents[0]!, [...known.map(({ id }) => id), `nobody ${hours}`]]],
      })
    if (!drainFirst) await simulated.drain()
  }
}

/** Compares tables; a failure shows the first differing rows of each table, because complete tables would be unreadable. */
function expectSame(after: Record<string, string[]>, before: Record<string, string[]>): void {
  const differences = Object.keys(before).flatMap(table => {
    const [then, now] = [new Set(before[table]), new Set(after[table])]
    const lost = before[table]!.filter(row => !now.has(row)).slice(0, 2)
    const found = (after[table] ?? []).filter(row => !then.has(row)).slice(0, 2)
    return lost.length + found.length > 0 ? [{ table, lost, found }] : []
  })
  expect(differences).toEqual([])
  expect(Object.entries(after).map(([table, rows]) => [table, rows.length])).toEqual(
    Object.entries(before).map(([table, rows]) => [table, rows.length]),
  )
}

interface Step {
  hours: number
  gone: boolean
  drainFirst: boolean
  ids: number
}

const steps = fc.array(
  fc.record({
    hours: fc.constantFrom(1, 3, 30, 8 * 24),
    gone: fc.boolean(),
    drainFirst: fc.boolean(),
    ids: fc.constantFrom(0, 0, 7),
  }),
  { minLength: 3, maxLength: 4 },
)

/** Returns hostile records except large ones and those whose event the receiver refuses. */
const hostile = (share: number) =>
  Object.fromEntries(
    HOSTILE_NAMES.filter(name => name !== 'huge-record' && name !== 'deep-nesting').map(name => [name, share]),
  )

describe.runIf(isDeep)('a replay', () => {
  it.each([11, 12])('rebuilds every table as it was, in place and in another folder: seed %i', async seed => {
    await fc.assert(
      fc.asyncProperty(steps, async given => {
        const { simulated, end } = await openSimulatedApp({
          sandbox: {
            ...{ seed, agents: 2, conversations: 20, historyDays: 6, arrivalsPerDay: 12, traffic: true },
            ...(seed % 2 === 0 ? { hostile: hostile(0.02), ts: 'activity' as const } : {}),
          },
          settings: { sampleShare: 0.02, rereadShare: 0.1, maxPage: 40, resources: RESOURCE_NAMES },
        })
        const elsewhere = await mkdtemp(join(tmpdir(), 'convohouse-elsewhere-'))
        try {
          await simulated.sync()
          await simulateDays(simulated, given)
          const before = await everyColumn(simulated.rows)
          const requests = (await simulated.served()).length
          await simulated.close()
          for (const folder of ['landing', 'spool'])
            await cp(join(simulated.config.home, folder), join(elsewhere, folder), { recursive: true })
          await replay({ config: simulated.config })
          expectSame(await tablesAt(simulated.config), before)
          const there = { ...simulated.config, home: elsewhere }
          await replay({ config: there })
          expectSame(await tablesAt(there), before)
          expect((await simulated.served()).length).toBe(requests)
        } finally {
          await end()
          await rm(elsewhere, { recursive: true })
        }
      }),
      { numRuns: 1, seed, endOnFailure: true },
    )
  })
})
