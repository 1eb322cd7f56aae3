// Clocks that are wrong: the vendor's for one sync, ours for one sync. Each second is read once it has passed.
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { inProcess } from '../cli/in-process.ts'
import { type ModelledVendor, modelled, modelledVendor } from './simulated/modelled-vendor.ts'
import { type SimulatedApp, START_MS, TOKEN } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'

/** A vendor with an hourly conversation until its clock. */
function vendorWithArrivals(): { vendor: ModelledVendor; arrive(nowMs: number): void } {
  const vendor = modelledVendor([['a', []]])
  const arrive = (nowMs: number) => {
    const held = vendor.agents.get('a')!
    for (let ts = START_MS - 30 * HOUR + held.length * HOUR; ts < nowMs; ts += HOUR) held.push(modelled(`c${ts}`, ts))
  }
  return { vendor, arrive }
}

/** Syncs by a clock that is `aheadMs` ahead of the vendor's. */
async function syncBy(simulated: SimulatedApp, aheadMs: number): Promise<void> {
  simulated.clock.setAhead(aheadMs)
  await simulated.sync()
  simulated.clock.setAhead(0)
}

const stored = async ({ rows }: SimulatedApp) =>
  (await rows<{ id: string }>('SELECT conversation_id AS id FROM conversations ORDER BY 1')).map(({ id }) => id)

const settledOf = (vendor: ModelledVendor, nowMs: number) =>
  vendor.agents
    .get('a')!
    .flatMap(({ ID, ts }) => (ts < nowMs - 5 * MINUTE ? [ID] : []))
    .sort()

describe('a vendor whose dates are a day ahead in one sync', () => {
  it('hides no conversation, exports none twice, and the sync says what it costs', async () => {
    const { vendor, arrive } = vendorWithArrivals()
    const simulated = await simulatedApp({ through: vendor.start })
    for (const aheadMs of [0, DAY, 0, 0]) {
      arrive(simulated.clock.now())
      vendor.aheadMs = aheadMs
      const { warnings = [] } = await simulated.sync()
      const said = warnings.filter(text => text.includes("This machine's clock is 1 d behind the vendor's"))
      expect(said).toHaveLength(aheadMs === 0 ? 0 : 1)
      expect(await stored(simulated)).toEqual(settledOf(vendor, simulated.clock.now()))
      simulated.advance(90 * MINUTE)
    }
    expect(vendor.billed).toBe((await stored(simulated)).length)
  })
})

describe('our clock that is a day ahead for one sync of a vendor without dates', () => {
  it('leaves no gap, also after a replay, and exports at most the last hours twice', async () => {
    const { vendor, arrive } = vendorWithArrivals()
    vendor.dates = false
    const simulated = await simulatedApp({ through: vendor.start })
    arrive(simulated.clock.now())
    await syncBy(simulated, 0)
    for (const aheadMs of [DAY, 0, 0, 0]) {
      simulated.advance(100 * MINUTE)
      arrive(simulated.clock.now())
      await syncBy(simulated, aheadMs)
      expect(await stored(simulated)).toEqual(settledOf(vendor, simulated.clock.now()))
    }
    await simulated.replay()
    // The windows of the wrong clock no longer lie in the future.
    for (let hour = 0; hour < 30; hour += 5) {
      simulated.advance(5 * HOUR)
      arrive(simulated.clock.now())
      await syncBy(simulated, 0)
      expect(await stored(simulated)).toEqual(settledOf(vendor, simulated.clock.now()))
    }
    expect(vendor.billed).toBeLessThanOrEqual((await stored(simulated)).length + 3)
  })

  it('does not export the history again if the wrong clock opened its window', async () => {
    const { vendor, arrive } = vendorWithArrivals()
    vendor.dates = false
    const simulated = await simulatedApp({ through: vendor.start })
    for (const aheadMs of [DAY, 0, 0]) {
      arrive(simulated.clock.now())
      await syncBy(simulated, aheadMs)
      expect(await stored(simulated)).toEqual(settledOf(vendor, simulated.clock.now()))
      simulated.advance(2 * HOUR)
    }
    expect(vendor.billed).toBeLessThanOrEqual((await stored(simulated)).length + 2)
  })
})

it('status shows clocks that are more than five minutes apart, and the delay', async () => {
  const { vendor, arrive } = vendorWithArrivals()
  const simulated = await simulatedApp({ through: vendor.start })
  const { home } = simulated.config
  arrive(simulated.clock.now())
  vendor.aheadMs = -DAY
  await simulated.sync()
  await simulated.close()
  const env = { CONVOHOUSE_HOME: home, CONVOHOUSE_API_URL: 'http://127.0.0.1:1', CONVOHOUSE_API_TOKEN: TOKEN }
  const { stdout } = await inProcess(['status'], { env: { ...env, CONVOHOUSE_WORKSPACE: 'ws_demo' } })
  expect(stdout).toMatch(/clock +is 1 d ahead of the vendor's, so new conversations arrive 1 d later/)
})
