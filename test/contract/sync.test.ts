// The contract of a sync: the same tests run with the embedded host and with Temporal.

import { describe, expect, it } from 'vitest'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { isDeep } from '../tier.ts'
import { until } from '../until.ts'
import { expectedTables } from '../workflows/simulated/expected-rows.ts'
import { truthOf } from '../workflows/simulated/truth.ts'
import { asLines, warehouseTables } from '../workflows/simulated/warehouse-tables.ts'
import { embeddedHost, temporalHost } from './hosts.ts'
import { type OpenHost, type Scene, scene } from './scene.ts'

async function expectTruth({ sandbox, rows }: Scene): Promise<void> {
  const truth = truthOf(sandbox, { throughMs: sandbox.clock.now() })
  expect(asLines(await warehouseTables(rows))).toEqual(asLines(expectedTables(truth)))
}

async function expectNothingTwice({ exported }: Scene): Promise<void> {
  const asked = (await exported()).map(({ agentId, query }) => JSON.stringify([agentId, query]))
  expect(new Set(asked).size).toBe(asked.length)
}

/** The hourly limit is lower than the syncs need. Without a settle time, nothing remains for a later sync. */
const RATE = { hourMs: 3_000, requestsPerHour: 8 }
const SANDBOX = { hourMs: RATE.hourMs, hourlyRequests: RATE.requestsPerHour }
const SETTINGS = { ...RATE, maxPage: 10, settleMs: 0, mirrorLagMs: 0 }

/** The tests of one host. `served` sets how the sandbox interprets the API document. */
function contract(open: OpenHost, served: Partial<SandboxOptions> = {}): void {
  const sceneOf = (opened: OpenHost, options: Parameters<typeof scene>[1] = {}) =>
    scene(opened, {
      sandbox: { ...served, ...options.sandbox },
      settings: { resources: RESOURCE_NAMES, ...options.settings },
    })

  it('stores every conversation, field and child row and requests nothing twice: after a selection, after a limited run, within the rate limit, and if nothing is new', async () => {
    const host = await sceneOf(open, { sandbox: SANDBOX, settings: SETTINGS })
    const [some] = truthOf(host.sandbox, { throughMs: host.sandbox.clock.now() })
    const id = String(some!.record.ID)
    const named = await host.sync({ mode: 'selected', ids: [[some!.agentId, [id]]] })
    expect(named).toMatchObject({ outcome: 'done', conversations: 1 })
    expect(await host.rows('SELECT conversation_id AS id FROM conversations')).toEqual([{ id }])

    const limited = await host.sync({ maxRequests: 4 })
    expect(limited).toMatchObject({ outcome: 'limit-reached', requests: 4 })
    const rest = await host.sync()
    expect(rest).toMatchObject({ outcome: 'done', windowsLeft: 0, failures: [], breaches: 0 })
    const requests = await host.served()
    expect(named.requests + limited.requests + rest.requests).toBe(requests.length)
    expect(requests.length).toBeGreaterThan(RATE.requestsPerHour)
    expect(requests.filter(({ status }) => status === 429)).toEqual([])
    await expectTruth(host)
    await expectNothingTwice(host)
    expect(await host.rows('SELECT run, outcome FROM _runs ORDER BY started_at')).toEqual(
      [named, limited, rest].map(({ run, outcome }) => ({ run, outcome })),
    )
    expect(await host.rows('SELECT name FROM organizations ORDER BY name')).toEqual([
      { name: 'Alpha Service' },
      { name: 'Bêta & Fils' },
    ])
    const tools = await host.rows('SELECT DISTINCT agent_id AS id FROM tools ORDER BY id')
    expect(tools.map(({ id }) => id)).toEqual([...host.sandbox.world.agentIds()].sort())

    // Checks begin on the second day of a warehouse.
    await host.rows('UPDATE _runs SET started_at = started_at - INTERVAL 2 DAY')
    await host.rows('INSERT INTO _loads FROM _loads LIMIT 1')
    const checked = await host.sync()
    expect(checked).toMatchObject({ outcome: 'done', sessions: 0, conversations: 0 })
    expect(checked.warnings).toContainEqual(expect.stringContaining('loads_unique'))
    expect(await host.rows(`SELECT outcome, scope FROM _checks WHERE name = 'loads_unique'`)).toEqual([
      { outcome: 'failed', scope: 'all' },
    ])
    await expectTruth(host)
  })

  it('ends with the reason if the vendor refuses', async () => {
    const host = await sceneOf(open, { sandbox: { paid: false } })
    const report = await host.sync()
    expect(report).toMatchObject({ outcome: 'failed', failures: [{ code: 'API_FORBIDDEN', kind: 'access' }] })
    expect(await host.rows('SELECT outcome, error_code FROM _runs')).toEqual([
      { outcome: 'failed', error_code: 'API_FORBIDDEN' },
    ])
  })

  it('records a run that fails before it has a plan, with its origin, error code and hint', async () => {
    const host = await sceneOf(open, { settings: { readToken: () => 'another-token' } })
    await expect(host.sync({ origin: 'schedule' })).rejects.toThrow()
    const rows = () => host.rows('SELECT origin, outcome, error_code, success, hint FROM _runs')
    await until(async () => (await rows())[0]?.outcome !== null, { everyMs: 50 })
    expect(await rows()).toEqual([
      {
        origin: 'schedule',
        outcome: 'failed',
        error_code: 'API_UNAUTHORIZED',
        success: false,
        hint: expect.stringContaining('token'),
      },
    ])
  })
}

const LITERAL = { literal: true }

// Deep tier only: other tests cover the embedded host with a vendor that interprets the document as usual.
describe.runIf(isDeep)('the embedded host', () => contract(embeddedHost))

describe('the embedded host, with a vendor who serves the document to the letter', () =>
  contract(embeddedHost, LITERAL))

describeWithTemporal('Temporal', ({ place }) => {
  contract(temporalHost(place))
  // Deep tier only: the steps interpret the document, and they are the same on both hosts.
  describe.runIf(isDeep)('with a vendor who serves the document to the letter', () =>
    contract(temporalHost(place), LITERAL),
  )
})
