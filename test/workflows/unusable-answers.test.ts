// Answers that cannot be used although they arrived: what they hold is not stored, and nothing claims that it is.
import { expect, it } from 'vitest'
import { startProgress } from '../../src/cli/sync/progress.ts'
import { reportLines } from '../../src/cli/sync/report.ts'
import { HOUR, MINUTE } from '../../src/core/time.ts'
import { modelled, modelledVendor } from './simulated/modelled-vendor.ts'
import { START_MS } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'

it('a workspace with a conversation that cannot be stored is not up to date, in any later sync', async () => {
  const records = [
    modelled('c1', START_MS - HOUR),
    { ...modelled('', START_MS - 2 * HOUR), ID: null as unknown as string },
  ]
  const vendor = modelledVendor([['a', records]])
  const simulated = await simulatedApp({ through: vendor.start })
  for (let round = 0; round < 3; round++) {
    const report = await simulated.sync()
    const text = reportLines('ws', { report, progress: startProgress(0), nowMs: 0 }).join('\n')
    expect(text).toContain('not everything is stored')
    expect(text).toContain('1 conversation record cannot be stored: `convohouse quarantine list`')
    simulated.advance(HOUR)
  }
  expect(vendor.billed).toBe(2)
})

it('a list of agents that cannot be read keeps no known agent from its export', async () => {
  const records = [modelled('c1', START_MS - HOUR)]
  const vendor = modelledVendor([['a', records]])
  const simulated = await simulatedApp({ through: vendor.start })
  await simulated.sync()
  vendor.listing = () => null
  simulated.advance(HOUR)
  records.push(modelled('c2', START_MS + MINUTE))
  const report = await simulated.sync()
  expect(report).toMatchObject({ outcome: 'done', conversations: 1, agentsLeftOut: true })
  expect(report.warnings![0]).toContain('The agents could not be listed (API_PROTOCOL)')
})
