// A changed `timeZone`: every stored day follows it, even if nothing new is read.
import { describe, expect, it } from 'vitest'
import type { Config } from '../../src/config.ts'
import { HOUR } from '../../src/core/time.ts'
import { replay } from '../../src/run/replay.ts'
import { type SimulatedApp, START_MS } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { openEventSender } from './simulated/simulated-events.ts'

const ZONE = 'Pacific/Kiritimati'

type Days = Record<string, string | null>

/** The stored day of each conversation, and the time that determines it: the time of the first message, else `ts`. */
const DAYS = `SELECT conversation_id AS id, _complete AS complete, day::VARCHAR AS day, epoch_ms(coalesce(first_message_ts, ts))::DOUBLE AS ms
  FROM conversations ORDER BY id`

const dayIn = (zone: string, ms: number): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(ms)

type Stored = { id: string; complete: boolean; day: string | null; ms: number | null }

const expectDaysIn = (zone: string, rows: Stored[]) => {
  const truth: Days = Object.fromEntries(rows.map(({ id, ms }) => [id, ms === null ? null : dayIn(zone, ms)]))
  expect(Object.fromEntries(rows.map(({ id, day }) => [id, day]))).toEqual(truth)
}

/** Returns an app with conversations that were exported, and some that only events have reported. */
async function appWithEvents(): Promise<SimulatedApp> {
  const simulated = await simulatedApp({ sandbox: { conversations: 20, arrivalsPerDay: 60, traffic: true } })
  await simulated.sync()
  simulated.advance(2 * HOUR)
  const eventSender = openEventSender(simulated, { dropped: 0 })
  await eventSender.send(START_MS, simulated.sandbox.clock.now())
  await simulated.drain()
  return simulated
}

const zoned = (config: Config, timeZone: string): Config => ({
  ...config,
  workspaces: config.workspaces.map(workspace => ({ ...workspace, timeZone })),
})

describe('a time zone that is changed in the configuration', () => {
  it('updates every stored day at the next sync, even if nothing is read, and at a replay, also of conversations known only from events', async () => {
    const simulated = await appWithEvents()
    const before = await simulated.rows<Stored>(DAYS)
    expectDaysIn('UTC', before)
    expect(before.some(({ complete, day }) => !complete && day !== null)).toBe(true)
    expect(new Set(before.map(({ day }) => day)).size).toBeGreaterThan(1)
    simulated.config.workspaces[0]!.timeZone = ZONE
    // The request selects an agent without conversations, so nothing is read.
    await simulated.sync({ mode: 'selected', ids: [] })
    const after = await simulated.rows<Stored>(DAYS)
    expectDaysIn(ZONE, after)
    expect(after.map(({ day }) => day)).not.toEqual(before.map(({ day }) => day))
    const byDay = await simulated.rows(
      'SELECT day::VARCHAR AS day, sum(conversations)::DOUBLE AS n FROM marts.conversations_daily WHERE conversations > 0 GROUP BY ALL ORDER BY ALL',
    )
    expect(byDay).toEqual(
      await simulated.rows(
        'SELECT day::VARCHAR AS day, count(*)::DOUBLE AS n FROM conversations WHERE _complete AND is_test IS NOT TRUE GROUP BY ALL ORDER BY ALL',
      ),
    )
    expect(await simulated.rows('SELECT time_zone FROM _workspaces')).toEqual([{ time_zone: ZONE }])

    await simulated.close()
    await replay({ config: zoned(simulated.config, 'UTC') })
    await simulated.restart()
    expectDaysIn('UTC', await simulated.rows<Stored>(DAYS))
  })
})
