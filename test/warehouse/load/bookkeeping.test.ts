import { describe, expect, it } from 'vitest'
import { CATALOG_VERSION } from '../../../src/catalog/records.ts'
import { MINUTE } from '../../../src/core/time.ts'
import { freshWindow, landAgents, landConversations, NO_USAGE, SENT_AT_MS } from '../landed-pages.ts'
import { LOADED_AT_MS, temporaryWarehouse } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const shown = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/(\.000)?Z$/, '+00')

describe('a loaded page', () => {
  it('is in _loads, with its number of records and whether it was coerced', async () => {
    const workspace = app.workspace()
    const plain = await landConversations(workspace.landing, { records: [{ ID: 'a' }, { ID: 'b' }] })
    const coerced = await landConversations(workspace.landing, { records: [{ ID: 'c', isTest: 'perhaps' }, null] })
    await workspace.load(plain, coerced)
    const loaded_at = shown(LOADED_AT_MS)
    const catalog_version = CATALOG_VERSION
    expect(await workspace.rows('_loads')).toEqual([
      { file: plain.address, stream: 'conversations', records: '2', coerced: false, catalog_version, loaded_at },
      { file: coerced.address, stream: 'conversations', records: '1', coerced: true, catalog_version, loaded_at },
    ])
  })

  it('is in _requests, with what it billed', async () => {
    const workspace = app.workspace()
    const window = freshWindow({ agentId: 'agent-7' })
    const facts = { scanned: 5, billed: 3 }
    const bill = { logId: 'export_7', summary: '3 sessions' }
    const usage = { ...NO_USAGE, exportRequestCount: 12 }
    const landed = await landConversations(workspace.landing, { records: [{ ID: 'a' }], window, facts, usage, bill })
    await workspace.load(landed)
    expect(await workspace.rows('_requests')).toEqual([
      {
        file: landed.address,
        run: 'run-1',
        stream: 'conversations',
        agent_id: 'agent-7',
        window_name: window.name,
        sent_at: shown(SENT_AT_MS),
        duration_ms: '250',
        status: 200,
        returned: '1',
        scanned: '5',
        billed_sessions: '3',
        kind: 'full',
        from_at: null,
        to_at: '2025-11-20 00:53:20+00',
        body_bytes: String(landed.head.bodyBytes),
        log_id: 'export_7',
        usage_summary: '3 sessions',
        export_request_count: '12',
      },
    ])
  })

  it('is in _quota as the vendor reported it, and not if it reported nothing', async () => {
    const workspace = app.workspace()
    await workspace.load(
      await landConversations(workspace.landing, { records: [{ ID: 'a' }] }),
      await landConversations(workspace.landing, {
        records: [],
        usage: { ...NO_USAGE, periodKey: '2026-11', billableUsedThisPeriod: 120, includedQuota: 50_000 },
        rateLimit: { requestsPerHour: 1_500, remainingHour: 1_499 },
      }),
    )
    expect(await workspace.rows('_quota')).toEqual([
      {
        reported_at: shown(SENT_AT_MS),
        period_key: '2026-11',
        used_sessions: '120',
        included_sessions: '50000',
        remaining_sessions: null,
        overage_sessions: null,
        overage_packs: null,
        requests_per_hour: '1500',
        remaining_requests: '1499',
      },
    ])
  })

  it('without a record is loaded too', async () => {
    const workspace = app.workspace()
    expect(await workspace.load(await landConversations(workspace.landing, { records: [] }))).toMatchObject({
      files: 1,
    })
    expect(await workspace.rows('_loads', 'records')).toEqual([{ records: '0' }])
    expect(await workspace.rows('_windows', 'done, returned')).toEqual([{ done: true, returned: '0' }])
  })
})

describe('a window', () => {
  it('is folded from its pages, in one batch or in several', async () => {
    const [once, twice] = [app.workspace(), app.workspace()]
    const window = freshWindow({ kind: 'tail', fromSec: 1_763_000_000, toSec: 1_763_600_000 })
    for (const workspace of [once, twice]) {
      const paged = (sequence: number, hasMore: boolean) =>
        landConversations(workspace.landing, {
          records: [{ ID: `c${sequence}` }],
          window,
          facts: { sequence, hasMore, cursorOut: hasMore ? `cursor ${sequence}` : null, scanned: 4, billed: 2 },
        })
      const pages = [await paged(1, true), await paged(2, true), await paged(3, false)]
      if (workspace === once) await workspace.load(...pages)
      else {
        await workspace.load(pages[0]!, pages[1]!)
        expect(await workspace.rows('_windows', `done, pages, progress->>'cursor' AS cursor`)).toEqual([
          { done: false, pages: 2, cursor: 'cursor 2' },
        ])
        await workspace.load(pages[2]!)
      }
    }
    const rows = await once.rows('_windows')
    expect(await twice.rows('_windows')).toEqual(rows)
    expect(rows).toMatchObject([
      {
        agent_id: window.agentId,
        window_name: window.name,
        kind: 'tail',
        from_at: shown(1_763_000_000_000),
        to_at: shown(1_763_600_000_000),
        done: true,
        pages: 3,
        returned: '3',
        scanned: '12',
        billed: '6',
      },
    ])
  })

  it('of the same name of two agents is two windows', async () => {
    const workspace = app.workspace()
    const window = freshWindow({ agentId: 'left' })
    await workspace.load(
      await landConversations(workspace.landing, { records: [], window }),
      await landConversations(workspace.landing, { records: [], window: { ...window, agentId: 'right' } }),
    )
    expect(await workspace.rows('_windows', 'agent_id')).toEqual([{ agent_id: 'left' }, { agent_id: 'right' }])
  })
})

describe('drift', () => {
  it('is reported once per path, over all pages', async () => {
    const workspace = app.workspace()
    const page = (record: object, minute: number) =>
      landConversations(workspace.landing, {
        records: [
          { ID: 'c', ...record },
          { ID: 'd', ...record },
        ],
        sentAtMs: SENT_AT_MS + minute * MINUTE,
      })
    const first = await page({ title: 't', csat: { mood: 1 }, 'a.b': 1 }, 1)
    await workspace.load(await page({ title: 2 }, 3), first)
    await workspace.load(await page({ title: null, tags: [] }, 4), await page({ title: 't' }, 5))
    expect(await workspace.rows('_drift', 'record, path, seen, occurrences, first_seen, last_seen')).toEqual(
      [
        { path: '*', seen: 'number', occurrences: '2', from: 1, to: 1 },
        { path: 'csat.mood', seen: 'number', occurrences: '2', from: 1, to: 1 },
        { path: 'title', seen: 'string', occurrences: '6', from: 1, to: 5 },
      ].map(({ from, to, ...row }) => ({
        record: 'conversation',
        ...row,
        first_seen: shown(SENT_AT_MS + from * MINUTE),
        last_seen: shown(SENT_AT_MS + to * MINUTE),
      })),
    )
    expect(await workspace.rows('_issues')).toEqual([])
  })
})

describe('a key that may be data', () => {
  it('is reported as a placeholder by both load paths', async () => {
    const workspace = app.workspace()
    const people = { 'ada@mail.example': 1, 'Ada Lovelace': 2, tel4915112345678: 3, Jürgen: 4, plain_field: 5 }
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`name_${index}`, index]))
    await workspace.load(
      await landConversations(workspace.landing, { records: [{ ID: 'c', csat: people }] }),
      await landConversations(workspace.landing, { records: [{ ID: 'd', csat: { Jürgen: 4 } }] }),
      await landConversations(workspace.landing, { records: [{ ID: 'e', voice: many }] }),
    )
    expect(await workspace.rows('_drift', 'path, occurrences')).toEqual([
      { path: 'csat.*', occurrences: '5' },
      { path: 'csat.plain_field', occurrences: '1' },
      { path: 'voice.*', occurrences: '60' },
    ])
  })

  it('is reported as a placeholder in issues, too', async () => {
    const workspace = app.workspace()
    const body = '{"data":[{"ID":"c","capturedVariables":{"ada@mail.example":1,"ada@mail.example":{"a":1,"a":2}}}]}'
    await workspace.load(await landConversations(workspace.landing, { body }))
    expect(await workspace.rows('_issues', 'path, issue, seen, occurrences')).toEqual([
      { path: 'capturedVariables.*', issue: 'duplicate key', seen: 'object', occurrences: '2' },
    ])
  })
})

describe('an issue', () => {
  it('is reported once per path, with types and counts', async () => {
    const workspace = app.workspace()
    const records = [{ ID: 'c', isTest: 'perhaps', resolvedAt: 0 }, { ID: 'd', isTest: 7, resolvedAt: 0 }, null]
    await workspace.load(await landConversations(workspace.landing, { records }))
    await workspace.load(await landConversations(workspace.landing, { records }))
    expect(await workspace.rows('_issues', 'path, issue, declared, seen, occurrences')).toEqual([
      { path: '(record)', issue: 'wrong type', declared: 'object with ID', seen: 'null', occurrences: '2' },
      { path: 'isTest', issue: 'wrong type', declared: 'boolean', seen: 'string', occurrences: '4' },
      { path: 'resolvedAt', issue: 'time is zero', declared: 'time', seen: 'number', occurrences: '4' },
    ])
  })

  it('is reported for a count with a fraction in a child row, which is NULL; the record has the value', async () => {
    const workspace = app.workspace()
    const sessions = [{ id: 's', messagesNum: 0.5 }]
    const records = [
      { ID: 'c', sessions },
      { ID: 'd', sessions },
    ]
    await workspace.load(await landConversations(workspace.landing, { records }))
    const issue = { path: 'sessions[].messagesNum', issue: 'fraction', declared: 'count', seen: 'number' }
    expect(await workspace.rows('_issues', 'path, issue, declared, seen, occurrences')).toEqual([
      { ...issue, occurrences: '2' },
    ])
    expect(await workspace.rows('conversation_sessions', 'messages_num')).toEqual([
      { messages_num: null },
      { messages_num: null },
    ])
    const [stored] = await workspace.rows('conversations', 'sessions::VARCHAR AS sessions')
    expect(JSON.parse(stored!.sessions as string)).toEqual(sessions)
  })

  it('never contains a value, nor does any other bookkeeping', async () => {
    const workspace = app.workspace()
    const canary = 'C4n4ry-of-a-person'
    const records = [
      {
        ID: 'c',
        userName: [canary],
        messagesNum: canary,
        unheard: canary,
        csat: canary,
        tags: { of: canary },
        'a b': canary,
      },
      canary,
      { noId: canary },
    ]
    await workspace.load(await landConversations(workspace.landing, { records }))
    for (const table of ['_issues', '_drift', '_quarantine', '_loads', '_requests', '_windows', '_quota']) {
      expect(JSON.stringify(await workspace.rows(table)), table).not.toContain(canary)
    }
    // Proves that the check can fail: the value is in the warehouse, in its own column.
    expect(JSON.stringify(await workspace.rows('conversations'))).toContain(canary)
  })
})

describe('a conversation that was requested by id and not returned', () => {
  it('stays, with the time since when it is missing, until it is returned again', async () => {
    const workspace = app.workspace()
    const page = (minute: number, ids: string[], missing: string[]) =>
      landConversations(workspace.landing, {
        records: ids.map(ID => ({ ID })),
        sentAtMs: SENT_AT_MS + minute * MINUTE,
        facts: { missing, limit: ids.length + missing.length },
      })
    const missing = () => workspace.rows('conversations', 'conversation_id AS id, _missing_since AS since')
    await workspace.load(await page(0, ['here', "o'there"], []))
    // A page that returns others may be one that the vendor cut.
    await workspace.load(await page(1, ['here'], ["o'there"]))
    expect(await missing()).toMatchObject([{ since: null }, { since: null }])
    await workspace.load(await page(1, [], ["o'there", 'never seen']))
    await workspace.load(await page(2, [], ["o'there"]))
    expect(await missing()).toEqual([
      { id: 'here', since: null },
      { id: "o'there", since: shown(SENT_AT_MS + MINUTE) },
    ])
    await workspace.load(await page(3, ["o'there"], []))
    expect(await missing()).toEqual([
      { id: 'here', since: null },
      { id: "o'there", since: null },
    ])
  })
})

describe('a listing of agents', () => {
  const what = 'agent_id, title, extra, _missing_since IS NOT NULL AS missing'

  it('is the union of agents and starred agents, and fields without a column are kept', async () => {
    const workspace = app.workspace()
    const agents = [
      { ID: 'a1', title: 'One', ui: { color: 'red' } },
      { ID: 'a2', limits: { maxMessages: 9 } },
    ]
    const starredAgents = [
      { ID: 'a2', limits: { maxMessages: 9 } },
      { ID: 'a3', starred: true },
    ]
    expect(await workspace.load(await landAgents(workspace.landing, { agents, starredAgents }))).toMatchObject({
      inserted: 3,
    })
    expect(await workspace.rows('agents', 'agent_id, title, starred, limits_max_messages AS kept, extra')).toEqual([
      { agent_id: 'a1', title: 'One', starred: null, kept: null, extra: '{"ui":{"color":"red"}}' },
      { agent_id: 'a2', title: null, starred: null, kept: '9', extra: null },
      { agent_id: 'a3', title: null, starred: true, kept: null, extra: null },
    ])
    expect(await workspace.rows('_drift')).toEqual([])
  })

  it('marks no agent that it lacks, however complete it is', async () => {
    const workspace = app.workspace()
    const list = async (minute: number, ids: string[], lastPage = true) =>
      workspace.load(
        await landAgents(workspace.landing, {
          agents: ids.map(ID => ({ ID })),
          sentAtMs: SENT_AT_MS + minute * MINUTE,
          lastPage,
        }),
      )
    const missing = async () =>
      (await workspace.rows('agents', what)).flatMap(row => (row.missing ? [row.agent_id] : []))
    await list(0, ['a1', 'a2', 'a3'])
    for (const isComplete of [false, true]) {
      await list(isComplete ? 2 : 1, ['a1'], isComplete)
      expect(await missing()).toEqual([])
    }
  })
})
