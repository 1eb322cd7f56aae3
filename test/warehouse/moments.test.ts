// Times as texts: each is parsed independently of the texts beside it.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMoment } from '../../src/core/time.ts'
import { applyTo, eventOf, RECEIVED_MS } from './events/events-in.ts'
import { AGENT, landConversations } from './landed-pages.ts'
import { temporaryWarehouse, type Workspace } from './temporary-warehouse.ts'

const app = temporaryWarehouse()

/** A text, and its time in microseconds since the epoch; null if it is not a time. */
interface TimeText {
  text: string
  micros: bigint | null
}

const at = (ms: number, micros = 0): bigint => BigInt(ms) * 1_000n + BigInt(micros)

const MOMENTS: TimeText[] = [
  { text: '2026-01-15', micros: at(Date.UTC(2026, 0, 15)) },
  { text: '1900-02-28', micros: at(Date.UTC(1900, 1, 28)) },
  { text: '2024-02-29T23:59:59Z', micros: at(Date.UTC(2024, 1, 29, 23, 59, 59)) },
  { text: '2150-12-31 10:00', micros: at(Date.UTC(2150, 11, 31, 10)) },
  { text: '2026-01-15T10:00:00', micros: at(Date.UTC(2026, 0, 15, 10)) },
  { text: '2026-01-15T10:00:00.5Z', micros: at(Date.UTC(2026, 0, 15, 10, 0, 0, 500)) },
  { text: '2026-01-15T10:00:00.123456', micros: at(Date.UTC(2026, 0, 15, 10, 0, 0, 123), 456) },
  { text: '2026-01-15 10:00:00.123456789', micros: at(Date.UTC(2026, 0, 15, 10, 0, 0, 123), 456) },
  { text: '2026-01-15T10:00:00+14:00', micros: at(Date.UTC(2026, 0, 14, 20)) },
  { text: '2026-01-15 10:00-0030', micros: at(Date.UTC(2026, 0, 15, 10, 30)) },
  { text: '2026-01-15T10:00:00.123456-05', micros: at(Date.UTC(2026, 0, 15, 15, 0, 0, 123), 456) },
  { text: '2026-07-15T10:00+0545', micros: at(Date.UTC(2026, 6, 15, 4, 15)) },
  { text: '1000000000', micros: at(1_000_000_000_000) },
  { text: '1763600000123', micros: at(1_763_600_000_123) },
  { text: '1763600000123456', micros: at(1_763_600_000_123, 456) },
]

const NO_MOMENTS = [
  '2026-01-15 10:00:00 PST',
  '2026-01-15 10:00:00 EST',
  '2026-01-15T10:00:00 America/New_York',
  '2026-07-15 10:00:00 Europe/Berlin',
  '2026-01-15 10:00:00 UTC',
  '2026-01-15 10:00:00 GMT+3',
  '2026-01-15T10:00:00Asia/Kolkata',
  '2026-01-15T10:00:00[Asia/Tokyo]',
  '2026-01-15T10:00:00+01:00[Europe/Paris]',
  '2026',
  '20260115',
  '5',
  '0',
  '-1',
  '14.30',
  '1_000',
  '1_767_225_600',
  '1e12',
  '0x5f5e1000',
  '123456789',
  '0000000005',
  '12345678901234567',
  '99999999999999999999',
  '2026-02-30',
  '2026-13-01T00:00:00Z',
  '2026-00-10',
  '2026-01-15T24:00:00',
  '2026-01-15T10:61:00Z',
  '2026-01-15T10:00:60Z',
  '2026-01-15T10:00:00+25:00',
  '2026-01',
  '2026-W03-4',
  '2026-015',
  '2026-1-5',
  '15/01/2026',
  'infinity',
  '-infinity',
  'epoch',
  'now',
  'today',
  'next week',
  '2026-01-15 (BC)',
  '2026-01-15T10:00:00Z\n',
  ' 2026-01-15',
  'NaN',
  'Infinity',
  '٢٠٢٦-٠١-١٥',
]
const TEXTS = [...MOMENTS, ...NO_MOMENTS.map((text): TimeText => ({ text, micros: null }))]

/** A conversation with `text` in every field whose text is parsed as a time. */
const recordOf = (id: string, text: string) => ({
  ID: id,
  expectedCloseDate: text,
  demoDate: text,
  lastActivityDate: text,
  assignedTo: { assignedAt: text },
  assignedToUsers: [{ assignedAt: text }],
  crmActivities: [{ date: text, dueDate: text, notesHistory: [{ timestamp: text }] }],
  sessions: [{ startedAt: text, endedAt: text }],
  metrics: [{ measuredAt: text }],
  campaignCalls: [{ calledAt: text }],
  funnelStepsMatched: [{ matchedAt: text }],
  funnelScoreHistory: [{ scoredAt: text }],
})

const PLACES: [table: string, columns: string[], sent: string | null][] = [
  ['conversations', ['expected_close_at', 'demo_at', 'last_activity_at', 'assigned_to_assigned_at'], 'demo_date'],
  ['conversation_assigned_users', ['assigned_at'], 'assigned_at_text'],
  ['crm_activities', ['activity_at', 'due_at'], 'due_date'],
  ['crm_activity_notes', ['noted_at'], 'noted_at_text'],
  ['conversation_sessions', ['started_at', 'ended_at'], null],
  ['conversation_metrics', ['measured_at'], null],
  ['conversation_campaign_calls', ['called_at'], null],
  ['conversation_funnel_steps', ['matched_at'], null],
  ['conversation_funnel_scores', ['scored_at'], null],
]

async function readIn(workspace: Workspace): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>()
  for (const [table, columns, sent] of PLACES) {
    const micros = columns.map(column => `epoch_us(${column})::VARCHAR`).join(', ')
    const rows = await workspace.rows(table, `conversation_id AS id, [${micros}] AS read, ${sent ?? 'NULL'} AS sent`)
    for (const { id, read, sent: text } of rows as { id: string; read: (string | null)[]; sent: string | null }[]) {
      const all = found.get(id) ?? new Set()
      for (const one of read) all.add(String(one))
      if (sent !== null) all.add(`sent ${text}`)
      found.set(id, all)
    }
  }
  return found
}

const expected = ({ text, micros }: TimeText): Set<string> => new Set([String(micros), `sent ${text}`])

async function load(texts: readonly TimeText[], pageSize: number): Promise<Map<string, Set<string>>> {
  const workspace = app.workspace()
  const records = texts.map(({ text }, index) => recordOf(`c${index}`, text))
  const pages = []
  for (let from = 0; from < records.length; from += pageSize)
    pages.push(await landConversations(workspace.landing, { records: records.slice(from, from + pageSize) }))
  await workspace.load(...pages)
  return readIn(workspace)
}

describe('a date as text', () => {
  it('is parsed by itself: no row influences another, in any order and batch', async () => {
    for (const [order, pageSize] of [
      [TEXTS, TEXTS.length],
      [TEXTS.toReversed(), 7],
    ] as const) {
      const read = await load(order, pageSize)
      for (const [index, one] of order.entries())
        expect([one.text, read.get(`c${index}`)]).toEqual([one.text, expected(one)])
    }
  })
})

describe('a text that is not a date', () => {
  const UNREAD = [
    { path: 'crmActivities[].dueDate', occurrences: '1' },
    { path: 'expectedCloseDate', occurrences: '2' },
    { path: 'sessions[].startedAt', occurrences: '1' },
  ]
  const records = [
    { ID: 'a', expectedCloseDate: '2026-01-15 10:00:00 PST', demoDate: '2026-01-15', lastActivityDate: '' },
    {
      ID: 'b',
      expectedCloseDate: 5,
      crmActivities: [{ dueDate: '2026-02-30' }],
      sessions: [{ startedAt: 'yesterday' }],
    },
    { ID: 'c', expectedCloseDate: 1_767_225_600, sessions: [{ startedAt: 1_767_225_600_123 }, 's1', null, {}] },
  ]
  const issues = (workspace: Workspace) =>
    workspace.rows('_issues', 'path, occurrences::VARCHAR AS occurrences').then(rows => rows)

  it('is reported as a data issue by path, unless it is empty', async () => {
    const workspace = app.workspace()
    await workspace.load(await landConversations(workspace.landing, { records }))
    expect(await issues(workspace)).toEqual(UNREAD)
    const [row] = await workspace.rows('_issues', 'DISTINCT issue')
    expect(row).toEqual({ issue: 'no time that can be read' })
  })
})

describe('a date in the record fields of an event', () => {
  it('is parsed by the same rule, and reported if it cannot be', async () => {
    const workspace = app.workspace()
    const event = (convoId: string, demoDate: unknown) =>
      eventOf('conversation_updated', { agentId: AGENT, convoId, createdAt: RECEIVED_MS, lightConvoData: { demoDate } })
    const dates = ['2026-01-15 10:00:00 PST', '2026-01-15 10:00:00', '2026-01-15T10:00+02', '5']
    await applyTo(workspace, ...dates.map((date, index) => event(`c${index}`, date)))
    expect(await workspace.rows('conversations', 'conversation_id AS id, demo_date AS text, demo_at AS "at"')).toEqual([
      { id: 'c0', text: dates[0], at: null },
      { id: 'c1', text: dates[1], at: '2026-01-15 10:00:00+00' },
      { id: 'c2', text: dates[2], at: '2026-01-15 08:00:00+00' },
      { id: 'c3', text: dates[3], at: null },
    ])
    expect(await workspace.rows('_issues', 'record, path, occurrences::VARCHAR AS n')).toEqual([
      { record: 'conversation', path: 'demoDate', n: '2' },
    ])
  })
})

describe('a text that inspection accepts as a date', () => {
  it('is one that SQL can parse, and vice versa', async () => {
    const characters = fc.constantFrom(...'0123456789-:.+TZ tz_eP')
    const base = fc.constantFrom(...TEXTS.map(({ text }) => text))
    const text = fc.oneof(
      fc.string({ unit: characters, maxLength: 28 }),
      fc
        .tuple(base, fc.nat(40), characters)
        .map(([sent, place, one]) => sent.slice(0, place) + one + sent.slice(place + 1)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 100, maxLength: 100 }), async texts => {
        const rows = await app.warehouse.writer.rows<{ x: string; read: boolean }>(
          `SELECT x, parse_moment(x) IS NOT NULL AS read FROM (SELECT unnest(from_json($texts::JSON, '["VARCHAR"]')) AS x)`,
          { texts: JSON.stringify(texts) },
        )
        for (const { x, read } of rows) expect([x, isMoment(x)]).toEqual([x, read])
      }),
      { numRuns: 30, seed: 14 },
    )
  })
})
