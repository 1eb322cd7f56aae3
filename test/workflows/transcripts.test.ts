// What events and exports bring under every shape that a vendor may send it in: from the sandbox, through receiver and spool, to the tables.
import { describe, expect, it } from 'vitest'
import { spoolOf } from '../../src/app/spool.ts'
import { HOUR } from '../../src/core/time.ts'
import { READINGS, type Readings } from '../../src/sandbox/readings.ts'
import { drainAll } from '../../workflows/ingest.ts'
import { expectedTables } from './expected-rows.ts'
import { type SimulatedApp, START_MS, WORKSPACE } from './open-simulated-app.ts'
import { simulatedApp } from './simulated-app.ts'
import { openTelling } from './simulated-events.ts'
import { readThrough, truthOf } from './truth.ts'
import { asLines, warehouseTables } from './warehouse-tables.ts'

interface SentTurn {
  role: string
  text: string
  sessionId: string
  timestamp: number
}

/** What was said in each conversation, as the last event told it that carries turns. */
type Transcripts = Map<string, SentTurn[]>

async function told(readings: Partial<Readings>): Promise<{ simulated: SimulatedApp; sent: Transcripts }> {
  const world = { conversations: 30, agents: 1, arrivalsPerDay: 300, traffic: true, readings }
  const simulated = await simulatedApp({ sandbox: world })
  await simulated.sync()
  simulated.advance(2 * HOUR)
  const sent: Transcripts = new Map()
  const telling = openTelling(simulated, {
    dropped: 0,
    each({ convoId, payload }) {
      const { turns } = payload as { turns?: SentTurn[] }
      if (turns) sent.set(convoId!, turns)
    },
  })
  await telling.tell(START_MS, simulated.sandbox.clock.now())
  const { app, config } = simulated
  await drainAll(
    spoolOf({ app, home: config.home, workspace: config.workspaces[0]!, now: simulated.clock.now }),
    WORKSPACE,
  )
  return { simulated, sent }
}

const SAID = `SELECT conversation_id AS id, role, text, session_id AS session, epoch_ms("at")::DOUBLE AS "at"
  FROM conversation_turns ORDER BY conversation_id, position`

describe('a transcript', () => {
  it.each(READINGS.turns.values)(
    'whose turns tell their text in `%s` is in SQL: who said what, when, and in which session',
    async turns => {
      const { simulated, sent } = await told({ turns: turns as Readings['turns'] })
      expect(sent.size).toBeGreaterThan(10)
      const said = [...sent]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([id, all]) =>
          all.map(({ role, text, sessionId, timestamp }) => ({ id, role, text, session: sessionId, at: timestamp })),
        )
      expect(await simulated.rows(SAID)).toEqual(said)
    },
  )

  it('has a text, a session and a place of its own for every message', async () => {
    const { simulated } = await told({ turns: 'messages' })
    const [row] =
      await simulated.rows(`SELECT count(*)::INTEGER AS n, count(text)::INTEGER AS texts, count(session_id)::INTEGER AS sessions,
      count(DISTINCT (conversation_id, position))::INTEGER AS places FROM conversation_turns`)
    expect(row).toEqual({ n: row!.n, texts: row!.n, sessions: row!.n, places: row!.n })
  })
})

describe('an event', () => {
  it.each(['event', 'eventType', 'type', 'name'] as const)(
    'that tells its type in `%s` is no schema drift',
    async field => {
      const { simulated } = await told({ 'event-field': field })
      expect(await simulated.rows(`SELECT record, path FROM _drift WHERE record <> 'conversation'`)).toEqual([])
      const own = await simulated.rows(
        'SELECT count(*)::INTEGER AS n, count(extra)::INTEGER AS extra FROM messages_received',
      )
      expect(own[0]).toMatchObject({ extra: 0 })
      expect(own[0]!.n).toBeGreaterThan(10)
    },
  )
})

describe('channels', () => {
  it('have one spelling in every column of every table and view', async () => {
    const { simulated } = await told({})
    const columns = await simulated.rows<{
      table: string
      column: string
    }>(`SELECT table_name AS "table", column_name AS "column" FROM duckdb_columns()
      WHERE database_name = current_database() AND NOT internal AND contains(column_name, 'channel')`)
    expect(columns.map(({ table, column }) => `${table}.${column}`)).toEqual(
      expect.arrayContaining([
        'conversations.channel',
        'conversations.csat_channel',
        'conversations_by_day.channel',
        'conversation_linked_channels.channel',
        'messages_received.channel',
      ]),
    )
    const found = new Set<string>()
    for (const { table, column } of columns) {
      const rows = await simulated.rows<{ c: string | null }>(
        `SELECT DISTINCT "${column}"::VARCHAR AS c FROM "${table}"`,
      )
      for (const { c } of rows) for (const [word] of c?.matchAll(/web.?chat/gi) ?? []) found.add(word)
    }
    expect([...found]).toEqual(['webchat'])
  })
})

describe('the call of an external voice platform', () => {
  it('is in ext_ columns where records call it vapi, and is no drift', async () => {
    const simulated = await simulatedApp({ sandbox: { conversations: 120, readings: { ext: 'vapi' } } })
    await simulated.sync()
    const truth = truthOf(simulated.sandbox, { throughMs: readThrough(START_MS, 120_000) })
    const renamed = truth.map(({ agentId, record: { vapi, ...record } }) => ({
      agentId,
      record: vapi === undefined ? record : { ...record, ext: vapi },
    }))
    const tables = await warehouseTables(simulated.rows)
    expect(asLines(tables)).toEqual(asLines(expectedTables(renamed)))
    expect(tables.get('conversations')!.filter(row => row.ext_call_status !== null).length).toBeGreaterThan(5)
    expect(await simulated.rows(`SELECT path FROM _drift WHERE path LIKE 'vapi%'`)).toEqual([])
  })
})
