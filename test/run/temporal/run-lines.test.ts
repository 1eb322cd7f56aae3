// The log lines that a worker writes for each sync.
import { expect, it } from 'vitest'
import { ConvohouseError } from '../../../src/core/errors.ts'
import { newGovernor } from '../../../src/core/governor/governor.ts'
import { NO_REFRESH, planWindows } from '../../../src/core/planning/planner.ts'
import { runLines } from '../../../src/run/temporal/worker/run-log-lines.ts'
import type { Prepared, SyncReport } from '../../../workflows/steps.ts'

const RUN = { workspaceId: 'ws_1', run: '1f0c' }
const REPORT: SyncReport = {
  run: '1f0c',
  outcome: 'failed',
  requests: 1_234,
  sessions: 1,
  pages: 20,
  conversations: 1_999,
  windowsDone: 1,
  windowsLeft: 1,
  breaches: 0,
  lostAnswers: 0,
  lostSessions: 0,
  agentsGone: [],
  failures: [{ code: 'HOME_UNUSABLE', kind: 'storage', what: 'The disk is full.', hint: null, agentId: null }],
}

const DENSITY = { perDay: { low: 10, high: 20 }, newPerDay: 15, sessionsPerConversation: 1, mostSessions: 1 }
const NOW = Date.UTC(2026, 10, 20, 12)
const COVERED = [{ from: 0, to: NOW / 1_000 }]

/** Returns a plan with one agent per argument: 0 if it was read up to now, else its number of unread days. */
function preparedFor(...days: number[]): Prepared {
  const plan = planWindows({
    agents: days.map((unread, at) => ({
      agentId: `a${at}`,
      title: null,
      coverage: unread > 0 ? [] : COVERED,
      open: [],
      density: DENSITY,
    })),
    ...{ nowMs: NOW, settleMs: 0, sinceMs: NOW - Math.max(1, ...days) * 86_400_000, untilMs: null },
    ...{
      mode: { kind: 'incremental' },
      refreshes: NO_REFRESH,
      gapSessions: 500,
      maxPage: 100,
      idsPerRequest: 100,
      requestsPerHour: 1_500,
    },
  })
  return { plan, governor: newGovernor(), agents: [], pagesWaiting: 0, plannedAtMs: 0, aheadMs: 0 }
}

const resumed = ({ plan, ...prepared }: Prepared): Prepared => ({
  ...prepared,
  plan: { ...plan, windows: plan.windows.map(window => ({ ...window, resumes: true })) },
})

it('a worker logs when each sync begins, continues and ends, and why', () => {
  const lines: string[] = []
  const say = runLines(
    line => lines.push(line),
    () => {},
  )
  say.notPlanned(RUN, new ConvohouseError('API_UNAUTHORIZED', { what: 'The token is refused.' }))
  say.planned(RUN, preparedFor(10, 10))
  say.planned(RUN, preparedFor(10))
  say.ended(RUN, REPORT)
  say.planned(RUN, preparedFor())
  say.gaveUp(RUN, new Error('quotes the data of a customer'))
  expect(lines).toEqual([
    'ws_1: sync 1f0c cannot begin: API_UNAUTHORIZED: The token is refused.',
    'ws_1: sync 1f0c begins: 2 windows to read',
    'ws_1: sync 1f0c goes on: 1 window to read',
    'ws_1: sync 1f0c ended: failed; 1,999 conversations in 20 pages, 1,234 requests, 1 session billed; HOME_UNUSABLE: The disk is full.',
    'ws_1: sync 1f0c begins: 0 windows to read',
    'ws_1: sync 1f0c ended without a report: an unexpected error',
  ])
})

it('a worker logs the price of history once, before it is read', () => {
  const prices: string[] = []
  const say = runLines(
    () => {},
    line => prices.push(line),
  )
  const history = preparedFor(10)
  for (const prepared of [history, resumed(history), preparedFor(0)]) say.planned(RUN, prepared)
  expect(prices).toEqual([
    'ws_1: reading history. Total: 100 to 200 conversations, 1 to 2 requests, 100 to 200 sessions. Duration: within this hour, this period.',
  ])
})
