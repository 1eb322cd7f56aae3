import { expect, it } from 'vitest'
import { spoolOf } from '../../src/app/spool.ts'
import { HOUR } from '../../src/core/time.ts'
import { drainAll } from '../../workflows/ingest.ts'
import { START_MS, WORKSPACE } from './open-simulated-app.ts'
import { simulatedApp } from './simulated-app.ts'
import { openTelling } from './simulated-events.ts'

it('events in which no field names the type are of the types that were sent', async () => {
  const simulated = await simulatedApp({
    sandbox: { agents: 2, conversations: 0, arrivalsPerDay: 48, traffic: true, literal: true },
  })
  const { config, app, clock, sandbox, rows } = simulated
  const spool = spoolOf({ app, home: config.home, workspace: config.workspaces[0]!, now: clock.now })
  const untilMs = START_MS + 12 * HOUR
  simulated.advance(12 * HOUR)
  await openTelling(simulated, { dropped: 0 }).tell(START_MS, untilMs)
  await drainAll(spool, WORKSPACE)
  const found = await rows<{ type: string }>('SELECT type FROM webhook_events')
  const sent = [...sandbox.world.events(START_MS, untilMs)].map(({ type }) => type)
  expect(found.map(({ type }) => type).sort()).toEqual(sent.sort())
  expect(new Set(sent).size).toBeGreaterThan(4)
})
