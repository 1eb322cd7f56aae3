// Number of files in the landing that polls leave behind. One sync polls each agent once; few polls bring a conversation.

import { join } from 'node:path'
import { RESOURCE_NAMES } from '../../../src/config/resources.ts'
import { DAY } from '../../../src/core/time.ts'
import { openSimulatedApp } from '../../workflows/simulated/open-simulated-app.ts'
import { rounded } from '../measure.ts'
import { filesOf } from './folder-usage.ts'

/** Share of the polls that bring a conversation. */
const BRINGING = 0.01

/** Files per thousand polls, over `polls` polls of `agents` agents, each polled once every `everyMs`. */
export async function filesPerThousandPolls(options: {
  agents: number
  polls: number
  everyMs: number
  seed: number
}): Promise<number> {
  const { agents, polls, everyMs, seed } = options
  const arrivalsPerDay = (DAY / everyMs) * agents * BRINGING
  const { simulated, end } = await openSimulatedApp({
    sandbox: {
      agents,
      seed,
      conversations: agents,
      arrivalsPerDay,
      quotaSessions: 1_000_000,
      hourlyRequests: 1_000_000,
    },
    settings: { resources: RESOURCE_NAMES },
  })
  try {
    const landing = join(simulated.config.home, 'landing')
    await simulated.sync()
    const before = (await filesOf(landing)).length
    const requestsBefore = (await simulated.exported()).length
    const [held] = await simulated.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations')
    for (let poll = 0; poll < polls / agents; poll++) {
      simulated.advance(everyMs)
      const { outcome } = await simulated.sync()
      if (outcome !== 'done') throw new Error(`a sync ended as ${outcome}`)
    }
    const requests = (await simulated.exported()).length - requestsBefore
    const [brought] = await simulated.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM conversations')
    const files = (await filesOf(landing)).length - before
    console.log(JSON.stringify({ agents, polls, requests, conversations: brought!.n - held!.n, files }))
    return rounded((files * 1_000) / polls, 1)
  } finally {
    await end()
  }
}
