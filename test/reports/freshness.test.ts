import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Schedule } from '../../src/config/temporal.ts'
import type { WorkspaceConfig } from '../../src/config.ts'
import { compactTimestamp, DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { overdueOf, overdueTarget, syncTimes } from '../../src/reports/freshness.ts'
import { type TargetStatus, targetStatuses } from '../../src/reports/publications.ts'
import { NO_RUNS, type RunStatus } from '../../src/reports/runs.ts'
import { segmentName, spoolFolders } from '../../src/spool/folders.ts'
import { temporaryFolder } from '../cli/cli-process.ts'
import { newTarget } from '../publish/published.ts'
import { corpusWarehouse } from '../warehouse/corpus/template.ts'

const app = corpusWarehouse()

/** A Sunday. */
const NOW = Date.parse('2026-11-22T12:00:00Z')

interface Case {
  schedule?: Schedule
  /** Age of the last success, ms; null for none. */
  success?: number | null
  usual?: number
  newest?: number
  /** Age of the last event, ms; null for none. */
  event?: number | null
  run?: Partial<RunStatus>
  failure?: Partial<RunStatus>
  maxAgeMs?: number
  home?: string
}

async function judged({ schedule, success = 0, usual, newest, event = 0, run, failure, maxAgeMs, home }: Case) {
  const at = (age: number | null | undefined) => (age === null || age === undefined ? null : NOW - age)
  const times = [
    {
      workspaceId: 'ws',
      firstMs: NOW - 6 * DAY,
      successMs: at(success),
      usualMs: usual ?? null,
      ...{ newestMs: at(newest), eventMs: at(event) },
    },
  ]
  const workspace = { id: 'ws', schedule: schedule ?? null, readWebhookSecrets: () => [] } as unknown as WorkspaceConfig
  const runs = {
    ...NO_RUNS,
    lastRun: (run ?? null) as RunStatus | null,
    lastFailure: (failure ?? null) as RunStatus | null,
  }
  return overdueOf(workspace, { times, runs, home: home ?? (await temporaryFolder()), nowMs: NOW, maxAgeMs })
}

const every = (everyMs: number): Schedule => ({ everyMs, jitterMs: 0 })
const cron = (text: string): Schedule => ({ cron: text, jitterMs: 0 })
const late = [{ kind: 'no-sync', what: expect.stringMatching(/^no sync has succeeded for /) }]
const ISO = (age: number) => new Date(NOW - age).toISOString()

it.each<[string, Case, object[]]>([
  ['by its interval', { schedule: every(15 * MINUTE), success: 2 * HOUR }, late],
  ['but not while one round is missed', { schedule: every(12 * HOUR), success: 24 * HOUR }, []],
  [
    'not on a Sunday, if its cron expression names working days',
    { schedule: cron('0 4 * * mon-fri'), success: 56 * HOUR },
    [],
  ],
  ['by its cron expression', { schedule: cron('*/20 * * * *'), success: 2 * HOUR }, late],
  ['by the usual time between rounds of watch mode', { usual: 15 * MINUTE, success: 2 * HOUR }, late],
  ['not after a day without schedule or watch mode', { success: DAY }, []],
  ['after days without schedule or watch mode', { success: 3 * DAY }, late],
  ['by --max-age', { schedule: every(DAY), success: 2 * HOUR, maxAgeMs: HOUR }, late],
  ['never if --max-age allows it', { success: 5 * DAY, maxAgeMs: 6 * DAY }, []],
  ['if none has ever succeeded', { success: null }, late],
  ['not while the first one runs', { success: null, run: { state: 'running', seenAt: ISO(MINUTE) } }, []],
  [
    'if it ended in the future, since the clock is wrong',
    { success: -2 * HOUR },
    [{ kind: 'clock-wrong', since: ISO(-2 * HOUR), what: "the last sync ended in 2 h by this machine's clock" }],
  ],
  ['not while it is paused', { success: 5 * DAY, run: { state: 'paused' } }, []],
  [
    'with the last failure and its hint',
    { success: 5 * DAY, failure: { endedAt: ISO(DAY), error: 'No token.', hint: 'Set it.' } },
    [{ what: expect.stringMatching(/; the last one failed: No token$/), hint: 'Set it.' }],
  ],
])('a sync is overdue %s', async (_, given, expected) => {
  expect(await judged(given)).toMatchObject(expected)
  expect(await judged(given)).toHaveLength(expected.length)
})

it('webhook events are overdue if conversations came without them, or they are not applied; not in a quiet workspace', async () => {
  const none = [
    { kind: 'no-events', since: ISO(2 * DAY), what: expect.stringMatching(/^no webhook event has come for 2 d/) },
  ]
  const schedule = every(HOUR)
  expect(await judged({ schedule, event: 2 * DAY, newest: HOUR })).toMatchObject(none)
  expect(await judged({ schedule, event: 2 * DAY, newest: 3 * DAY })).toEqual([])
  const never = { kind: 'no-first-event', what: 'no webhook event has come since the first sync, 6 d ago' }
  expect(await judged({ schedule, event: null, newest: HOUR })).toMatchObject([never])
  expect(await judged({ schedule, event: null, newest: 7 * DAY })).toEqual([])
  const home = await temporaryFolder()
  const { sealed } = spoolFolders(home, 'ws')
  await mkdir(sealed, { recursive: true })
  await writeFile(
    join(sealed, segmentName({ opened: compactTimestamp(NOW - 3 * DAY), writer: '1f', number: 1 })),
    '{}\n',
  )
  expect(await judged({ home, event: 4 * DAY })).toMatchObject([
    { kind: 'events-waiting', since: ISO(3 * DAY), what: expect.stringContaining('have waited for 3 d') },
  ])
})

it('a target is overdue if it has lacked changes for longer than `publish.every` or --max-age allows', () => {
  const allowed = (everyMs: number, maxAgeMs?: number) => ({ everyMs, maxAgeMs, nowMs: NOW })
  const status = { target: 'bi', lagSeconds: 7_200 } as TargetStatus
  expect(overdueTarget(status, allowed(15 * MINUTE))).toMatchObject([
    { kind: 'target-behind', since: ISO(2 * HOUR), what: 'bi has lacked changes for 2 h' },
  ])
  expect(overdueTarget(status, allowed(DAY))).toEqual([])
  expect(overdueTarget(status, allowed(DAY, HOUR))).toHaveLength(1)
  expect(overdueTarget({ ...status, lagSeconds: null }, allowed(MINUTE, MINUTE))).toEqual([])
  const never = overdueTarget({ ...status, asOf: null }, allowed(15 * MINUTE))
  expect(never).toMatchObject([
    { kind: 'target-empty', what: 'bi was never published to; the first sync succeeded 2 h ago' },
  ])
})

it('a conversation from 2150 is not the newest one, and a target that was never published to lacks all since the first sync', async () => {
  const { writer } = app.warehouse
  const { id } = app.corpus('times-of-wrong-centuries')
  await writer.run(`UPDATE conversations SET ts = CASE conversation_id WHEN 'first' THEN _as_of ELSE '2150-01-01' END
    WHERE workspace_id = '${id}'`)
  await writer.run(`INSERT INTO _runs (workspace_id, run, started_at, ended_at, outcome, success)
    VALUES ('${id}', 'r', '${ISO(3 * HOUR)}', '${ISO(2 * HOUR)}', 'done', true)`)
  const rows = (sql: string) => writer.rows<never>(sql)
  const [times] = await syncTimes(rows)
  expect(times).toMatchObject({ workspaceId: id, firstMs: NOW - 3 * HOUR, newestMs: expect.any(Number) })
  expect(times!.newestMs).toBeLessThan(Date.parse('2100-01-01'))
  const [status] = await targetStatuses(rows, [newTarget(app.home)], NOW)
  expect(status).toMatchObject({ asOf: null, lagSeconds: 7_200 })
})
