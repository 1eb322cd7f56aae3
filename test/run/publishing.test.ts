// Publications while a process holds the warehouse: when they begin, and that their failures do not affect other work.
import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { App } from '../../src/app.ts'
import type { Clock } from '../../src/clock.ts'
import type { SnapshotTarget } from '../../src/config/targets/snapshot.ts'
import type { TargetConfig } from '../../src/config/targets.ts'
import type { Config } from '../../src/config.ts'
import { ConvohouseError } from '../../src/core/errors.ts'
import type { PublicationReport } from '../../src/core/publication-report.ts'
import { publicationText, publishHere, startPublishing } from '../../src/run/publishing.ts'
import { consumers } from '../../src/warehouse/changes/consumers.ts'
import { DEFAULT, ENTRY, newTarget, SETTINGS } from '../publish/published.ts'
import { until } from '../until.ts'
import { landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'

const app = temporaryWarehouse()

/** Returns a clock that only `pass` advances. */
function stillClock(): Clock & { pass(ms: number): void } {
  let nowMs = Date.now()
  return {
    now: () => nowMs,
    pass(ms) {
      nowMs += ms
    },
    async sleepUntil(untilMs, signal) {
      while (nowMs < untilMs) {
        signal?.throwIfAborted()
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    },
  }
}

function start(targets: TargetConfig[], clock: Clock) {
  const config = { home: app.home, targets, publish: SETTINGS, threads: 1 } as unknown as Config
  const reports: PublicationReport[] = []
  const failures: [string, unknown][] = []
  const here = { config, app: { warehouse: app.warehouse } as App, clock }
  const running = startPublishing({
    ...here,
    publishTo: publishHere({ ...here, published: report => reports.push(report), entry: ENTRY }),
    failing: (...news) => failures.push(news),
  })
  return { reports, failures, end: running.end }
}

describe('a process that holds the warehouse', () => {
  const clock = stillClock()
  let target: TargetConfig

  /** Publishes to that target once, after the interval. */
  async function published(to: TargetConfig): Promise<PublicationReport> {
    clock.pass(SETTINGS.everyMs)
    const { reports, end } = start([to], clock)
    await until(async () => reports.length === 1)
    await end()
    return reports[0]!
  }

  it('publishes nothing to a new target while no conversation is loaded, and then at once', async () => {
    const place = app.workspace()
    const { reports, end } = start([newTarget(app.home)], clock)
    for (let look = 0; look < 3; look++) {
      clock.pass(6_000)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    expect(reports).toEqual([])
    await place.load(await landConversations(place.landing, { records: [{ ID: 'a' }] }))
    clock.pass(6_000)
    await until(async () => reports.length === 1)
    await end()
  })

  it('publishes changes once per interval, and reports a failing target once while it continues with the others', async () => {
    const place = app.workspace()
    const load = async (minute: number) => {
      const page = { records: [{ ID: 'a', userName: `${minute}` }], sentAtMs: SENT_AT_MS + minute * 60_000 }
      await place.load(await landConversations(place.landing, page))
    }
    await load(1)
    target = newTarget(app.home)
    const broken = newTarget(app.home, { path: '/proc/no/t.duckdb' })
    const { reports, failures, end } = start([broken, target], clock)
    await until(async () => reports.length === 1)
    await load(2)
    // Waits for several checks, none of which finds a due target.
    for (let look = 0; look < 3; look++) {
      clock.pass(6_000)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    expect(reports.map(({ kind }) => kind)).toEqual(['refill'])
    clock.pass(SETTINGS.everyMs)
    await until(async () => reports.length === 2)
    await end()
    expect(reports.map(({ target: name, kind }) => [name, kind])).toEqual([
      [target.name, 'refill'],
      [target.name, 'delta'],
    ])
    expect(failures.map(([name]) => name)).toEqual([broken.name])
  })

  it('writes a target from empty if a process with another configuration has published changes, and applies a changed policy although nothing else has changed', async () => {
    const place = app.workspace()
    const other = newTarget(app.home)
    await published(other)
    expect(await published(target)).toMatchObject({ kind: 'current' })
    await place.load(await landConversations(place.landing, { records: [{ ID: 'a' }] }))
    await published(other)
    expect(await published(target)).toMatchObject({ kind: 'refill', reason: 'trimmed' })
    expect(await published({ ...target, pii: DEFAULT })).toMatchObject({ kind: 'refill', reason: 'other policy' })
  })

  it('tries again after a failure, although nothing changes', async () => {
    const { path } = target as SnapshotTarget
    await writeFile(path, 'precious')
    clock.pass(SETTINGS.everyMs)
    const next = start([target], clock)
    await until(async () => next.failures.length === 1)
    await rm(path)
    clock.pass(SETTINGS.everyMs)
    await until(async () => next.reports.length === 1)
    await next.end()
    expect(next.failures.at(-1)).toEqual([target.name, null])
  })

  it('publishes nothing without a target, and ends the log of targets that are no longer configured', async () => {
    expect((await consumers(app.warehouse.writer)).length).toBeGreaterThan(0)
    const { reports, end } = start([], stillClock())
    await end()
    expect(reports).toEqual([])
    expect((await consumers(app.warehouse.writer)).map(({ name }) => name)).toEqual(['marts'])
    expect(existsSync(`${app.home}/published`)).toBe(false)
  })
})

it('the news of a failure separates what happened from what to do', () => {
  const refused = new ConvohouseError('TARGET_UNUSABLE', { what: 'Connection refused', hint: 'Check the port.' })
  expect(publicationText('bi', refused)).toContain(': Connection refused. Check the port.')
})
