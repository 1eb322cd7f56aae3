// What the pipeline's page asks of an operator, from the state that `status` knows; and where an error of SQL lies.
import { describe, expect, it } from 'vitest'
import { NO_RUNS } from '../../../src/reports/runs.ts'
import { needsOf, type Pipeline, type ShownRun, type ShownStatus } from '../../../src/serve/web/state/needs.ts'
import { placeOf } from '../../../src/serve/web/state/sql-place.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const AGENT = { agentId: 'a1', title: 'Front desk' }

const workspace = (given: Partial<ShownStatus> = {}, id = 'w') =>
  ({
    ...{
      workspaceId: id,
      agents: [AGENT],
      overdue: [],
      gaps: [],
      unverified: [],
      backingOff: [],
      quota: null,
      ...NO_RUNS,
    },
    findings: { quarantined: 0, agentsCutOff: null },
    events: { failing: null, unreadableSegments: 0, damaged: 0, refused: [], types: [], waitingSince: null },
    ...given,
  }) as unknown as ShownStatus

const pipelineOf = (workspaces: ShownStatus[], given: Partial<Pipeline> = {}): Pipeline => ({
  ...{ webhooksRefused: [], checks: [], models: [], targets: [], held: [], workspaces, ...given },
})

const failed = (given: Partial<ShownRun>) =>
  ({ run: 'r', state: 'ended', endedAt: '2026-11-20T11:00:00Z', errorCode: 'API_TIMEOUT', ...given }) as ShownRun

const textsOf = (pipeline: Pipeline) => needsOf(pipeline, NOW).map(({ what }) => what)

describe('the needs of an operator', () => {
  it('are none of a pipeline in which nothing is wrong', () => {
    expect(textsOf(pipelineOf([workspace()]))).toEqual([])
  })

  it('name a failed sync with its code unless a later one succeeded, and what is older than the schedule allows', () => {
    const lastFailure = failed({})
    const text = 'The last sync failed 60 min ago (API_TIMEOUT)'
    expect(textsOf(pipelineOf([workspace({ lastFailure })]))).toEqual([text])
    const lastSuccess = failed({ endedAt: '2026-11-20T11:30:00Z' })
    expect(textsOf(pipelineOf([workspace({ lastFailure, lastSuccess })]))).toEqual([])
    const overdue: ShownStatus['overdue'] = [
      { kind: 'no-sync', since: '2026-11-18T11:30:00Z' },
      { kind: 'events-waiting', since: '2026-11-20T10:00:00Z' },
    ]
    expect(textsOf(pipelineOf([workspace({ lastFailure, overdue })]))).toEqual([
      'No sync has succeeded for 2 d',
      'Webhook events have waited for 2 h to be applied',
      text,
    ])
  })

  it('name the workspace if there are several, and agents by their titles', () => {
    const backingOff = [{ agentId: 'a1', window: 'head', until: '2026-11-20T13:00:00Z' }]
    const texts = textsOf(pipelineOf([workspace({ backingOff }, 'one'), workspace({}, 'two')]))
    expect(texts).toEqual(['one: Front desk: head made no progress'])
  })

  it('come from the quota, events, findings, checks, models, held statements and targets', () => {
    const found = workspace({
      quota: { sessionsLeft: 0, includedSessions: 50, overagePacks: 2 } as never,
      findings: { quarantined: 1, agentsCutOff: 'ended after 10 pages' } as never,
      events: {
        ...workspace().events,
        failing: {
          what: 'Full.',
          code: 'DISK',
          since: '2026-11-20T10:00:00Z',
          nextTry: '2026-11-20T11:00:00Z',
          pid: 7,
        },
        ...{
          unreadableSegments: 1,
          damaged: 2,
          refused: [{ reason: 'wrong-secret', count: 3, last: '2026-11-20T11:50:00Z' }],
        },
      } as never,
    })
    const pipeline = pipelineOf([found], {
      checks: [{ name: 'c', outcome: 'failed', violations: 4, severity: 'error', blocks: true, table: 't' } as never],
      models: [{ name: 'm', outcome: 'failed' } as never],
      held: [
        { kind: 'query', name: 'SELECT', limit: 'time', timeoutMs: 60_000, heldAt: '2026-11-20T11:50:00Z' } as never,
      ],
      targets: [
        {
          ...{
            target: 'd',
            overdue: [{ kind: 'target-behind', since: '2026-11-20T10:00:00Z' }],
            isGone: true,
            behind: 3,
            lagSeconds: 7_200,
          },
          ...{ selectingNone: ['x'], failure: { since: '2026-11-20T10:00:00Z', code: 'E' } },
        } as never,
      ],
    })
    expect(textsOf(pipeline)).toEqual([
      'The 50 included sessions are used up; the vendor has charged 2 overage packs',
      'The listing of agents ended after 10 pages: agents may be missing',
      '1 record could not be loaded',
      'Webhook events are not applied since 2 h ago (DISK)',
      '1 segment of the spool cannot be read',
      '2 webhook events are damaged on disk',
      '3 webhook requests were refused (wrong secret), the last 10 min ago',
      'The target d has lacked changes for 2 h',
      'Publishing to d fails since 2 h ago (E)',
      'The files of d are no longer there',
      'The rows of d: nothing is selected by x',
      'The check c did not pass: 4 rows (error)',
      'The model m could not be built (failed)',
      'The query passed its time limit (60 s) 10 min ago, and is refused: SELECT',
    ])
  })
})

describe('the place of an error in SQL', () => {
  it('is found in short and in cut lines, and nowhere without a mark', () => {
    const short = 'SELECT 1\nFROM t WHER x'
    expect(placeOf('Parser Error: near "x"\n\nLINE 2: FROM t WHER x\n                    ^', short)).toEqual({
      ...{ line: 2, column: 12, message: 'Parser Error: near "x"' },
    })
    const long = 'SELECT agent_title, count(*) AS n FROM marts.fct_handoffs WHERE nope = 1'
    const cut = 'LINE 1: ... agent_title, count(*) AS n FROM marts.fct_handoffs WHERE nope = 1'
    const place = placeOf(`Binder Error\n\n${cut}\n${' '.repeat(cut.indexOf('nope'))}^`, long)
    expect(long.slice(place!.column)).toBe('nope = 1')
    expect(placeOf('Only SELECT is allowed.', long)).toBeNull()
    expect(placeOf(`Binder Error\n\n${cut}\n${' '.repeat(cut.indexOf('nope'))}^`, 'other')).toBeNull()
  })
})
