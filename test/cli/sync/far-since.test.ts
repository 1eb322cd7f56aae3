import { describe, expect, it, onTestFinished } from 'vitest'
import { EARLIEST_MS } from '../../../src/core/time.ts'
import { openScene, TOKEN_ENV } from '../../scene.ts'
import { observingProxy } from '../../workflows/simulated/observing-proxy.ts'
import { isProbeQuery } from '../../workflows/simulated/probe.ts'
import { inProcess } from '../in-process.ts'

/** A workspace of 60 conversations, and the parameters of its export requests. */
async function workspace() {
  const requested: URLSearchParams[] = []
  const record = (url: string) =>
    observingProxy(url, ({ pathname, searchParams: query }) => {
      const isProbe = isProbeQuery(query.get('fromTs'), query.get('toTs'))
      if (pathname.endsWith('/convos/export') && !isProbe) requested.push(query)
      return undefined
    })
  const { file, close } = await openScene({
    sandbox: { conversations: 60, agents: 1, arrivalsPerDay: 0, historyDays: 200 },
    through: ({ url }) => record(url),
  })
  onTestFinished(close)
  const env = { ...TOKEN_ENV, CONVOHOUSE_CONFIG: file }
  const query = async (sql: string) => (await inProcess(['query', sql], { env })).stdout.split('\r\n').slice(1, -1)
  return { env, query, requested }
}

const timesIn = (requested: readonly URLSearchParams[]): number[] =>
  requested.flatMap(query => ['fromTs', 'toTs'].flatMap(name => (query.has(name) ? [Number(query.get(name))] : [])))

describe('a sync from before the time at which the API can tell seconds from milliseconds', () => {
  it('exports and covers 90 days with --since 90d, and everything from the beginning with an age of a century', async () => {
    const { env, query, requested } = await workspace()
    await inProcess(['sync', '--since', '90d'], { env })
    expect(requested.length).toBeGreaterThan(0)
    for (const one of requested) expect(Number(one.get('fromTs'))).toBeGreaterThan(Date.now() - 91 * 86_400_000)
    expect(await query('SELECT count(*) FROM coverage WHERE from_at IS NULL')).toEqual(['0'])

    const first = await inProcess(['sync', '--since', '40000d'], { env })
    const second = await inProcess(['sync', '--since', '40000d'], { env })
    const requests = requested.length
    await inProcess(['sync'], { env })
    expect([first.code, second.code]).toEqual([0, 0])
    expect(Number((await query('SELECT count(*) FROM conversations'))[0])).toBeGreaterThan(50)
    // One range of the coverage has no lower bound; the others begin where that one ends.
    const covered = "SELECT count(*) FILTER (from_at IS NULL), count(*) FILTER (from_at < '2026-01-01') FROM coverage"
    expect(await query(covered)).toEqual(['1,0'])
    for (const time of timesIn(requested)) expect(time).toBeGreaterThanOrEqual(EARLIEST_MS)
    // A range that was read without a lower bound is not read again when a bound is given.
    expect(requested.slice(requests).filter(one => !one.has('fromTs'))).toEqual([])
  })
})
