// Events and exports in every shape that a vendor may send: from the sandbox, through receiver and spool, to the tables.
import { describe, expect, it } from 'vitest'
import { spoolOf } from '../../src/app/spool.ts'
import { HOUR } from '../../src/core/time.ts'
import { READINGS, type Readings } from '../../src/sandbox/readings.ts'
import { drainAll } from '../../workflows/ingest.ts'
import { isDeep } from '../tier.ts'
import { expectedTables } from './simulated/expected-rows.ts'
import { type SimulatedApp, START_MS, WORKSPACE } from './simulated/open-simulated-app.ts'
import { simulatedApp } from './simulated/simulated-app.ts'
import { openEventSender } from './simulated/simulated-events.ts'
import { readThrough, truthOf } from './simulated/truth.ts'
import { asLines, warehouseTables } from './simulated/warehouse-tables.ts'

interface SentTurn {
  role: string
  text: string
  sessionId: string
  timestamp: number
}

interface Sent {
  /** The turns of each conversation, from the last event that carries turns. */
  transcripts: Map<string, SentTurn[]>
  types: string[]
}

/** A workspace that was synced and then received and applied two hours of events, and what those events contained. */
async function eventsOf(readings: Partial<Readings>): Promise<{ simulated: SimulatedApp; sent: Sent }> {
  const world = { conversations: 30, agents: 1, arrivalsPerDay: 300, traffic: true, readings }
  const simulated = await simulatedApp({ sandbox: world })
  await simulated.sync()
  simulated.advance(2 * HOUR)
  const sent: Sent = { transcripts: new Map(), types: [] }
  const eventSender = openEventSender(simulated, {
    dropped: 0,
    each({ convoId, type, payload }) {
      const { turns } = payload as { turns?: SentTurn[] }
      if (turns) sent.transcripts.set(convoId!, turns)
      sent.types.push(type)
    },
  })
  await eventSender.send(START_MS, simulated.sandbox.clock.now())
  const { app, config } = simulated
  await drainAll(
    spoolOf({ app, home: config.home, workspace: config.workspaces[0]!, now: simulated.clock.now }),
    WORKSPACE,
  )
  return { simulated, sent }
}

const TURNS = `SELECT conversation_id AS id, role, text, session_id AS session, epoch_ms(written_at)::DOUBLE AS "at"
  FROM conversation_turns ORDER BY conversation_id, position`

const EVENT_FIELDS = READINGS['event-field'].values
const SHAPES: [string, string][] = isDeep
  ? READINGS.turns.values.flatMap(turns => EVENT_FIELDS.map((field): [string, string] => [turns, field]))
  : [
      ['messages', 'name'],
      ['parts', 'absent'],
    ]

/** All channel names that occur in any channel column of any table or view. */
async function channelsIn({ rows }: SimulatedApp): Promise<string[]> {
  const columns = await rows<{
    table: string
    column: string
  }>(`SELECT schema_name || '.' || table_name AS "table", column_name AS "column"
    FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal AND contains(column_name, 'channel')`)
  expect(columns.map(({ table, column }) => `${table}.${column}`.replace(/^main\./, ''))).toEqual(
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
    const values = await rows<{ c: string | null }>(`SELECT DISTINCT "${column}"::VARCHAR AS c FROM ${table}`)
    for (const { c } of values) for (const [word] of c?.matchAll(/web.?chat/gi) ?? []) found.add(word)
  }
  return [...found]
}

describe('a transcript', () => {
  it.each(SHAPES)(
    'with the text of turns in `%s` and the type of events in `%s` is stored with role, text, time and session, without drift and with one spelling of channels',
    async (turns, field) => {
      const readings = { turns, 'event-field': field } as Partial<Readings>
      const { simulated, sent } = await eventsOf(readings)
      expect(sent.transcripts.size).toBeGreaterThan(10)
      const said = [...sent.transcripts]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([id, all]) =>
          all.map(({ role, text, sessionId, timestamp }) => ({ id, role, text, session: sessionId, at: timestamp })),
        )
      expect(await simulated.rows(TURNS)).toEqual(said)
      const [places] = await simulated.rows(
        'SELECT count(DISTINCT (conversation_id, position))::INTEGER AS n FROM conversation_turns',
      )
      expect(places).toEqual({ n: said.length })

      const types = await simulated.rows<{ type: string }>('SELECT type FROM webhook_events')
      expect(types.map(({ type }) => type).sort()).toEqual(sent.types.toSorted())
      expect(new Set(sent.types).size).toBeGreaterThan(4)
      expect(await simulated.rows(`SELECT record, path FROM _drift WHERE record <> 'conversation'`)).toEqual([])
      const [own] = await simulated.rows<{ n: number }>(
        'SELECT count(*)::INTEGER AS n, count(extra)::INTEGER AS extra FROM messages_received',
      )
      expect(own).toMatchObject({ extra: 0 })
      expect(own!.n).toBeGreaterThan(10)
      expect(await channelsIn(simulated)).toEqual(['webchat'])
    },
  )
})

describe('the call of an external voice platform', () => {
  it('is in the ext_ columns if records name it vapi, and is not drift', async () => {
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
