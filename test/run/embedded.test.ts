// Plans, syncs and watch mode with the embedded host.
import { getEventListeners } from 'node:events'
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ConvohouseError } from '../../src/core/errors.ts'
import { isBilledAgain } from '../../src/core/planning/price.ts'
import { type EmbeddedOptions, PLAIN_SYNC, planOnly, syncOnce, watch } from '../../src/run/embedded.ts'
import type { SyncReport } from '../../workflows/steps.ts'
import { TOKEN } from '../scene.ts'
import { isDeep } from '../tier.ts'
import type { SimulatedApp } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

const MINUTE = 60_000

/** Returns the embedded host on the sandbox's clock: each sleep takes 50 ms of real time and advances that clock to the sleep's end. */
function embedded(simulated: SimulatedApp, more: Partial<EmbeddedOptions> = {}): EmbeddedOptions {
  const { sandbox, config, app } = simulated
  return {
    config,
    workspace: config.workspaces[0]!,
    app,
    signal: new AbortController().signal,
    clock: {
      now: () => sandbox.clock.now(),
      async sleepUntil(untilMs, signal) {
        await new Promise(resolve => setTimeout(resolve, 50))
        if (signal.aborted) throw signal.reason
        sandbox.clock.set(Math.max(untilMs, sandbox.clock.now()))
      },
    },
    request: PLAIN_SYNC,
    ...more,
  }
}

const runs = (simulated: SimulatedApp) =>
  simulated.rows<{ run: string; outcome: string | null }>('SELECT run, outcome FROM _runs ORDER BY started_at, run')

describe('a plan', () => {
  it('costs nothing and leaves no run; if it is declined, nothing is exported; a sync executes exactly that plan and reports each page; a full one states what would be billed again', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 30, arrivalsPerDay: 0 } })
    const { plan } = await planOnly(embedded(simulated))
    expect(plan.windows).toHaveLength(3)
    expect(await simulated.served()).toEqual([])
    expect(await runs(simulated)).toEqual([])

    const asked: number[] = []
    const confirm = async ({ plan }: { plan: { firstBackfills: number } }) => {
      asked.push(plan.firstBackfills)
      return false
    }
    expect(await syncOnce(embedded(simulated, { confirm }))).toBeNull()
    expect(asked).toEqual([3])
    expect(await simulated.served()).toEqual([])
    expect(await runs(simulated)).toMatchObject([{ outcome: 'declined' }])

    const pages: number[] = []
    const works: string[] = []
    const onProgress: EmbeddedOptions['onProgress'] = news => {
      if (news.kind === 'finishing' && works.at(-1) !== news.work) works.push(news.work)
    }
    const report = await syncOnce(embedded(simulated, { onPage: page => pages.push(page.records), onProgress }))
    expect(works.filter(work => work !== 'pages')).toEqual(['resources', 'marts', 'checks'])
    const planned = plan.windows.map(({ progress }) => `${progress.window.agentId} ${progress.window.name}`)
    const read = await simulated.rows<{ key: string }>(`SELECT agent_id || ' ' || window_name AS key FROM _windows`)
    expect(read.map(({ key }) => key).sort()).toEqual(planned.sort())
    expect(pages).toHaveLength(report!.pages)
    expect(pages.reduce((sum, records) => sum + records, 0)).toBe(report!.conversations)
    expect(await runs(simulated)).toContainEqual({ run: report!.run, outcome: 'done' })

    // Without the warehouse, a full sync would bill the landed pages again, while a normal one bills nothing.
    await simulated.close()
    await rm(join(simulated.config.home, 'warehouse.duckdb'))
    await simulated.restart()
    const full = await planOnly(embedded(simulated, { request: { ...PLAIN_SYNC, mode: 'full' } }))
    expect(isBilledAgain(full.plan)).toBe(true)
    expect(full.plan.total.sessions.high).toBe(report!.sessions)
    simulated.sandbox.clock.advance(60 * MINUTE)
    expect(await syncOnce(embedded(simulated))).toMatchObject({ outcome: 'done', sessions: 0 })
    expect(await simulated.rows('SELECT count(*)::INTEGER AS n FROM conversations')).toEqual([
      { n: report!.conversations },
    ])
  })
})

describe('watch mode', () => {
  it('starts a sync in each interval; waits and says why if the data folder cannot be written, or the vendor refuses or does not answer, after a first sync', async () => {
    const missing = () => {
      throw new ConvohouseError('TOKEN_MISSING', { what: 'The file is empty.' })
    }
    const ROUNDS: { paid?: false; readToken?: () => string; closed?: true; unwritable?: true }[] = [
      ...[{}, { paid: false } as const, { readToken: () => 'a-token-that-was-revoked' }],
      ...[{ readToken: missing }, { unwritable: true } as const, {}, { closed: true } as const],
    ]
    let readToken = () => TOKEN
    const simulated = await simulatedApp({
      sandbox: { conversations: 20, arrivalsPerDay: 500 },
      settings: { readToken: () => readToken() },
    })
    const landing = join(simulated.config.home, 'landing')
    const away = `${landing}.away`
    const controller = new AbortController()
    const rounds: { outcome: string; nextMs: number; listeners: number; conversations: number }[] = []
    await watch({
      ...embedded(simulated, { signal: controller.signal, request: { ...PLAIN_SYNC, origin: 'watch' } }),
      everyMs: 15 * MINUTE,
      each(report, nextMs, error) {
        rounds.push({
          outcome:
            report?.failures[0]?.code ?? report?.unanswered?.code ?? report?.outcome ?? (error as ConvohouseError).code,
          nextMs,
          listeners: getEventListeners(controller.signal, 'abort').length,
          conversations: report?.conversations ?? 0,
        })
        const next = ROUNDS[rounds.length]
        if (next === undefined) return controller.abort(new Error('enough'))
        simulated.sandbox.conditions.set({ paid: next.paid ?? true })
        readToken = next.readToken ?? (() => TOKEN)
        if (existsSync(away)) {
          rmSync(landing)
          renameSync(away, landing)
        } else if (next.unwritable) {
          renameSync(landing, away)
          writeFileSync(landing, 'a file in the place of the folder')
        }
        if (next.closed) void simulated.sandbox.close()
      },
    })
    expect(rounds.map(({ outcome }) => outcome)).toEqual([
      ...['done', 'API_FORBIDDEN', 'API_UNAUTHORIZED', 'TOKEN_MISSING', 'HOME_UNUSABLE', 'done', 'API_UNAVAILABLE'],
    ])
    // The retries of the last round end after the next one is due.
    for (const [index, round] of rounds.slice(1, -1).entries())
      expect(round.nextMs - rounds[index]!.nextMs).toBe(15 * MINUTE)
    expect(rounds[5]!.conversations).toBeGreaterThan(0)
    expect(rounds.map(({ listeners }) => listeners)).toEqual(rounds.map(() => 0))
    expect(
      await simulated.rows(
        "SELECT count(*)::INTEGER AS n, count(*) FILTER (success)::INTEGER AS done FROM _runs WHERE origin = 'watch' AND ended_at IS NOT NULL",
      ),
    ).toEqual([{ n: ROUNDS.length, done: 2 }])
  })

  it('fetches new conversations in each round while history waits for the rate limit', async () => {
    const simulated = await simulatedApp({
      sandbox: { agents: 1, arrivalsPerDay: 1_000, conversations: 120, hourlyRequests: 40 },
      settings: { maxPage: 2 },
    })
    const controller = new AbortController()
    const rounds: SyncReport[] = []
    await watch({
      ...embedded(simulated, { signal: controller.signal }),
      everyMs: 5 * MINUTE,
      each(report) {
        rounds.push(report!)
        if (rounds.length === 2) controller.abort(new Error('enough'))
      },
    })
    expect(rounds.map(({ outcome }) => outcome)).toEqual(['preempted', 'preempted'])
    expect(rounds[0]!.windowsLeft).toBeGreaterThan(0)
    const heads = await simulated.rows(
      `SELECT run, sum(returned) AS n FROM _requests WHERE window_name LIKE '%-head-%' GROUP BY run HAVING n > 0`,
    )
    expect(heads.length).toBeGreaterThanOrEqual(1)
    expect((await simulated.served()).filter(({ status }) => status !== 200)).toEqual([])
  })

  it('ends by itself after an error that waiting cannot resolve', async () => {
    const simulated = await simulatedApp({ sandbox: { paid: false } })
    const report = await watch({ ...embedded(simulated), everyMs: MINUTE, each: () => {} })
    expect(report?.failures).toMatchObject([{ code: 'API_FORBIDDEN' }])
  })
})

describe('a round that still reads new conversations when the next one is due', () => {
  it.runIf(isDeep)('waits for its answers without a busy loop', async () => {
    const simulated = await simulatedApp({
      sandbox: { conversations: 60, agents: 6, arrivalsPerDay: 2_000, hourlyRequests: 9 },
      settings: { requestsPerHour: 9 },
    })
    const { clock } = simulated.sandbox
    const controller = new AbortController()
    let asleepInThePast = 0
    const watching = {
      ...embedded(simulated, { signal: controller.signal }),
      clock: {
        now: () => clock.now(),
        async sleepUntil(untilMs: number, signal: AbortSignal) {
          if (untilMs <= clock.now()) asleepInThePast += 1
          await new Promise(resolve => setTimeout(resolve, 20))
          if (signal.aborted) throw signal.reason
          clock.set(Math.max(Math.min(untilMs, clock.now() + MINUTE), clock.now()))
        },
      },
    }
    await syncOnce(watching)
    // The hourly limit has two requests left, which are slow; the other windows wait for their answers.
    clock.advance(55 * MINUTE)
    simulated.sandbox.faults.set({ rates: { slow: { rate: 1, param: 1_000 } } })
    await watch({ ...watching, everyMs: MINUTE, each: () => controller.abort(new Error('enough')) })
    expect(asleepInThePast).toBeLessThan(5)
  })
})
