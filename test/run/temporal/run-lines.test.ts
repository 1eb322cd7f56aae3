// The log lines that a worker writes for each sync.
import { expect, it } from 'vitest'
import { ConvohouseError } from '../../../src/core/errors.ts'
import { runLines } from '../../../src/run/temporal/worker/run-log-lines.ts'
import type { SyncReport } from '../../../workflows/steps.ts'

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

it('a worker logs when each sync begins, continues and ends, and why', () => {
  const lines: string[] = []
  const say = runLines(line => lines.push(line))
  say.notPlanned(RUN, new ConvohouseError('API_UNAUTHORIZED', { what: 'The token is refused.' }))
  say.planned(RUN, 2)
  say.planned(RUN, 1)
  say.ended(RUN, REPORT)
  say.planned(RUN, 0)
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
