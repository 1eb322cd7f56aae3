// Several workers share one hourly limit: only the owner workflow grants requests, so that together they never exceed it.

import type { Client } from '@temporalio/client'
import { expect, it } from 'vitest'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import { PLAIN_SYNC } from '../../src/run/embedded.ts'
import { askForSync } from '../../src/run/temporal/client/owner.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import type { SyncRequest } from '../../workflows/steps.ts'
import { connected, describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { rounds } from '../tier.ts'
import { expectTruth } from './expectations.ts'
import { reportOf, startWorkerAt } from './hosts.ts'
import { elsewhere, scene, WORKSPACE } from './scene.ts'
import { writeConfig } from './workers/worker-process.ts'

/**
 * Requests per hour: a small part of the vendor's 1,500, with an hour of six seconds, so that three workers use them up even on a
 * busy machine. HOUR_REQUESTS=1500 tests the full number.
 */
const REQUESTS = rounds('HOUR_REQUESTS', { usual: 40, deep: 1500 })
const HOUR = { requests: REQUESTS, ms: Math.ceil(REQUESTS / 7) * 1_000 }
/** One request per conversation: slightly more than two hours of requests. */
const CONVERSATIONS = Math.round(2.2 * REQUESTS)
const PATIENCE = { timeout: 600_000 + 8 * HOUR.ms }

/** The maximum number of requests within any hour. */
function mostWithinAnHour(served: readonly ServedRequest[]): number {
  const times = served.map(({ at }) => at).sort((a, b) => a - b)
  return Math.max(...times.map(from => times.filter(at => at >= from && at < from + HOUR.ms).length))
}

describeWithTemporal('three workers', ({ place }) => {
  let client: Client
  connected(place, opened => {
    client = opened
  })

  it('together never exceed the hourly limit, and use it up', PATIENCE, async () => {
    const there = await scene(elsewhere, {
      sandbox: { conversations: CONVERSATIONS, agents: 5, hourlyRequests: HOUR.requests, hourMs: HOUR.ms },
      settings: { maxPage: 1, resources: RESOURCE_NAMES },
    })
    const hour = { hour: `${HOUR.ms / 1_000}s`, requestsPerHour: HOUR.requests }
    const path = await writeConfig(there.config, '10s', hour)
    const roles = ['warehouse', 'export', 'export', 'export'] as const
    const workers = await Promise.all(roles.map(role => startWorkerAt(path, place, role)))
    const synced = async (mode: SyncRequest['mode']): Promise<ServedRequest[]> => {
      const before = (await there.served()).length
      const request = { ...PLAIN_SYNC, mode, workspaceId: WORKSPACE }
      const { handle } = await askForSync(client, { queues: there.config.temporal.queues, request })
      expect(await reportOf(handle)).toMatchObject({ outcome: 'done', failures: [], windowsLeft: 0 })
      return (await there.served()).slice(before)
    }

    const alone = await synced('incremental')
    expect(alone.length).toBeGreaterThan(1.5 * HOUR.requests)
    expect(alone.filter(({ status }) => status === 429)).toEqual([])
    expect(mostWithinAnHour(alone)).toBeLessThanOrEqual(HOUR.requests)
    // Seven percent of the requests are reserved for manual requests and for polls for new conversations.
    expect(mostWithinAnHour(alone)).toBeGreaterThan(0.85 * HOUR.requests)

    // The reserve also covers requests of other users of the token, and an unexpected refusal.
    there.sandbox.faults.set({
      script: [
        { fault: 'others-requests', param: 0.4 * REQUESTS, at: 25 },
        { fault: '429', at: 50 },
      ],
    })
    const disturbed = await synced('full')
    const exportedQueries = disturbed
      .filter(({ status }) => status === 200)
      .map(({ agentId, query }) => JSON.stringify([agentId, query]))
    expect(new Set(exportedQueries).size).toBe(exportedQueries.length)
    expect(disturbed.flatMap(({ faults }) => faults)).toEqual(expect.arrayContaining(['others-requests', '429']))
    // When the first request is refused because of other users' requests, each window loop may have another one in flight.
    const refused = disturbed.filter(({ status, faults }) => status === 429 && !faults.includes('429'))
    expect(refused.length).toBeLessThanOrEqual(4)

    for (const { stop } of workers) await stop()
    await expectTruth(there)
  })
})
