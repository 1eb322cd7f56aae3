// Queries over the marts of three million conversations, with events for 5 % of them: the slowest query's 95th percentile, over runs with
// random agents and days (`marts/*.sql`); and the time that the marts take to follow a page of 50 conversations.
//
// The real code loads twenty thousand conversations; SQL copies their rows, without the tables and long texts that no mart reads.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { layoutOf } from '../../src/catalog/layout.ts'
import { openWindow } from '../../src/core/planning/windows.ts'
import { Draw } from '../../src/sandbox/world/random.ts'
import { loadPages } from '../../src/warehouse/load/load.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import { type Warehouse, warehouseFile } from '../../src/warehouse/open.ts'
import { withLiterals } from '../../src/warehouse/sql-files.ts'
import { inFolder } from './command.ts'
import { EXPORTED_AT_MS, landExport, pageOf } from './landed-export.ts'
import { type BenchOptions, median, rounded, seconds } from './measure.ts'
import { copyId, multiply } from './multiplied.ts'
import { contextOf, inWarehouse, landingOf, loadSource, type Place } from './place.ts'

const TIME_ZONE = 'Europe/Berlin'

/** Child tables that marts read. */
const READ = [
  ...['conversation_handoffs', 'conversation_handoff_team_ids', 'conversation_handoff_team_keys'],
  ...['conversation_assigned_users', 'conversation_assigned_ids', 'token_usage_by_model'],
  ...['conversation_tags', 'conversation_captured_variables', 'conversation_metrics', 'conversation_funnel_steps'],
  'crm_activities',
]

/** Columns of a conversation that are long and that no mart reads. */
const isLong = ({ name, sqlType, pii }: { name: string; sqlType: string; pii: string }): boolean =>
  sqlType === 'JSON' || (pii === 'content' && name !== 'csat_comment')

const RUNS = 20
const PAGE_RECORDS = 50
const REFRESHES = 6

/** One conversation in this many has events. */
const WITH_EVENTS = 20
const TURNS = 12

const log = (text: string): void => console.error(text)

/** Agents, organizations, teams, metrics, and events of some conversations: rows as loads and drains write them, by SQL. */
const BESIDE = [
  `INSERT INTO agents (workspace_id, agent_id, title, agent_platform, region, is_deployed, _as_of, _version)
   SELECT DISTINCT workspace_id, agent_id, 'Agent ' || agent_id, 'vg', 'eu', true, _as_of, _as_of FROM conversations`,
  `INSERT INTO organizations (workspace_id, organization_id, name, _record)
   SELECT *, 'Organization ' || organization_id, row_number() OVER () FROM (SELECT DISTINCT workspace_id, organization_id FROM conversation_handoffs WHERE organization_id <> '')`,
  `INSERT INTO teams (workspace_id, team_id, organization_id, team_key, label, _record)
   SELECT workspace_id, team_id, any_value(organization_id), 'key ' || team_id, 'Team ' || team_id, row_number() OVER ()
   FROM conversation_handoff_team_ids t LEFT JOIN conversation_handoffs h USING (workspace_id, agent_id, conversation_id, _record) GROUP BY ALL`,
  // Copies of a conversation are of other people: most have an address, of up to a million, or an id of a user.
  `UPDATE conversations SET contact_identity_id = NULL, user_phone = NULL, user_id = 'u_' || hash(conversation_id) % 2_000_000,
     user_email = CASE WHEN hash(conversation_id) % 10 < 6 THEN 'user' || hash(conversation_id) % 1_000_000 || '@example.com' END`,
  `INSERT INTO custom_metrics (workspace_id, agent_id, metric_id, metric_key, type, _record)
   SELECT *, CASE metric_key WHEN 'effort' THEN 'number' ELSE 'enum' END, row_number() OVER () FROM (SELECT DISTINCT workspace_id, agent_id, metric_id, metric_key FROM conversation_metrics WHERE metric_id <> '')`,
  `CREATE TEMP TABLE with_events AS SELECT workspace_id, agent_id, conversation_id, first_message_ts, last_message_ts, _version, _as_of, row_number() OVER () AS _record
   FROM conversations WHERE hash(conversation_id) % ${WITH_EVENTS} = 0`,
  `INSERT INTO conversation_transcripts BY NAME SELECT workspace_id, agent_id, conversation_id, _version, _as_of, _record FROM with_events`,
  `INSERT INTO conversation_turns (workspace_id, agent_id, conversation_id, position, role, text, written_at, _record)
   SELECT workspace_id, agent_id, conversation_id, n, CASE WHEN n % 2 = 1 THEN 'user' WHEN n > 6 THEN 'human_agent' ELSE 'assistant' END,
     repeat('what was said ', 5), first_message_ts + to_seconds(n * 40), _record FROM with_events, range(1, ${TURNS + 1}) r(n)`,
  `INSERT INTO conversation_observations (workspace_id, agent_id, conversation_id, observed_at, source, version, state, reported)
   SELECT workspace_id, agent_id, conversation_id, _version, 'webhook', _version, 'ai-chatting', ['state'] FROM with_events`,
]

async function build(place: Place, rows: number): Promise<void> {
  const { home, source } = place
  const layout = layoutOf(conversation)
  const without = {
    tables: layout.children.map(({ table }) => table).filter(table => !READ.includes(table)),
    columns: layout.columns.filter(isLong).map(({ name }) => name),
  }
  const last = Math.round(rows / source.records) - 1
  await inWarehouse(home, { bulk: true }, async warehouse => {
    const { writer } = warehouse
    await loadSource(place, contextOf(warehouse, place, TIME_ZONE))
    await multiply(writer, { source: source.records, from: 1, to: last, without })
    for (const statement of BESIDE) await writer.run(statement)
  })
}

interface Query {
  name: string
  sql: string
}

async function queries(): Promise<Query[]> {
  const folder = fileURLToPath(new URL('../../../test/bench/marts', import.meta.url))
  const names = (await readdir(folder)).filter(name => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async file => ({ name: file.slice(0, -'.sql'.length), sql: await readFile(join(folder, file), 'utf8') })),
  )
}

/** Nearest rank. */
const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * share) - 1]!

/** Milliseconds that each query takes, with rows, over runs with random parameters. */
async function measureQueries({ instance, writer }: Warehouse): Promise<Record<string, number>> {
  const [{ agents, days }] =
    (await writer.rows(`SELECT list(DISTINCT agent_id) AS agents, list(DISTINCT day::VARCHAR) AS days
    FROM marts.conversations_daily WHERE conversations > 0`)) as [{ agents: string[]; days: string[] }]
  const connection = await instance.connect()
  const p95: Record<string, number> = {}
  try {
    for (const { name, sql } of await queries()) {
      const draw = new Draw(1, 0, 0)
      const oneOf = (values: readonly string[]) => values[Math.floor(draw.unit() * values.length)]!
      const taken: number[] = []
      let rows = 0
      for (let run = 0; run < RUNS; run++) {
        const day = oneOf(days)
        const text = withLiterals(sql, { agent: oneOf(agents), day, month: `${day.slice(0, 7)}-01` })
        taken.push(
          1_000 *
            (await seconds(async () => {
              const reader = await connection.runAndReadAll(text)
              rows = Math.max(rows, reader.currentRowCount)
            })),
        )
      }
      p95[name] = rounded(quantile(taken, 0.95), 1)
      console.log(JSON.stringify({ query: name, p95Ms: p95[name], medianMs: rounded(median(taken), 1), rows }))
    }
  } finally {
    connection.closeSync()
  }
  return p95
}

/** Conversations of a page: drawn from all, or the newest of all. */
type Order = 'random' | 'newest'

/** Milliseconds of a refresh: on the clock, and of CPU. */
interface Refresh {
  wall: number
  cpu: number
}

/** Medians of the time in which the marts follow a page of changed conversations, without the page's own load. */
async function measureRefreshes(warehouse: Warehouse, place: Place): Promise<Record<Order, Refresh>> {
  const { writer } = warehouse
  const { source } = place
  const landing = landingOf(place)
  const context = contextOf(warehouse, place, TIME_ZONE)
  const bodies = source.bodies.map(
    body => (JSON.parse(body.toString()) as { data: { ID: string; lastMessageTS?: number }[] }).data,
  )
  const all = bodies.flatMap((data, index) => data.map(document => ({ agentId: source.agents[index]!, document })))
  const [{ held }] = (await writer.rows('SELECT count(*)::INTEGER AS held FROM conversations')) as [{ held: number }]
  const copies = Math.round(held / source.records)
  const draw = new Draw(2, 0, 0)
  const taken: Record<Order, Refresh[]> = { random: [], newest: [] }
  for (let round = 0; round < REFRESHES; round++) {
    for (const order of ['random', 'newest'] as const) {
      const [{ agentId }] = [all[Math.floor(draw.unit() * all.length)]!]
      const own = all.filter(one => one.agentId === agentId).map(({ document }) => document)
      const byActivity = [...own].sort((a, b) => (b.lastMessageTS ?? 0) - (a.lastMessageTS ?? 0))
      const openedAtMs = EXPORTED_AT_MS + (round * 2 + (order === 'random' ? 1 : 2)) * 60_000
      const texts = Array.from({ length: PAGE_RECORDS }, (_, index) => {
        const document = order === 'random' ? own[Math.floor(draw.unit() * own.length)]! : byActivity[index]!
        const copy = 1 + Math.floor(draw.unit() * (copies - 1))
        return JSON.stringify({
          ...document,
          ID: copyId(document.ID, copy),
          lastModified: openedAtMs,
          messagesNum: 1_000 + round,
        })
      })
      const window = openWindow({
        agentId,
        kind: 'full',
        fromSec: null,
        toSec: Math.floor(openedAtMs / 1_000),
        openedAtMs,
      })
      const { head, body } = pageOf(texts, { window, sequence: 1, hasMore: false })
      const { inserted, replaced } = await loadPages(context, [{ address: await landing.land(head, body), head }])
      if (inserted > 0 || replaced === 0) throw new Error(`${inserted} conversations were new, ${replaced} replaced`)
      const before = process.cpuUsage()
      const wall = 1_000 * (await seconds(() => refreshMarts(writer)))
      const { user, system } = process.cpuUsage(before)
      const cpu = (user + system) / 1_000
      log(`marts followed ${replaced} conversations (${order}) in ${rounded(wall, 0)} ms (CPU ${rounded(cpu, 0)} ms)`)
      taken[order].push({ wall, cpu })
    }
  }
  const medianOf = (order: Order): Refresh => ({
    wall: rounded(median(taken[order].map(({ wall }) => wall)), 0),
    cpu: rounded(median(taken[order].map(({ cpu }) => cpu)), 0),
  })
  return { random: medianOf('random'), newest: medianOf('newest') }
}

export const martsBench = (options: BenchOptions): Promise<Record<string, number>> =>
  inFolder(async home => {
    const place = { home, source: await landExport(home, options) }
    await build(place, 3 * options.rows)
    const buildSeconds = await inWarehouse(home, { bulk: true }, ({ writer }) => seconds(() => refreshMarts(writer)))
    const { size } = await stat(warehouseFile(home))
    log(`marts were built in ${rounded(buildSeconds)} s; the file has ${rounded(size / 2 ** 30)} GB`)
    const p95 = await inWarehouse(home, { bulk: false }, measureQueries)
    const refresh = await inWarehouse(home, { bulk: false }, warehouse => measureRefreshes(warehouse, place))
    return {
      worstP95Ms: Math.max(...Object.values(p95)),
      buildSeconds: rounded(buildSeconds, 1),
      refreshMs: refresh.random.wall,
      refreshCpuMs: refresh.random.cpu,
      refreshMsOfNewestPage: refresh.newest.wall,
      refreshCpuMsOfNewestPage: refresh.newest.cpu,
      conversations: 3 * options.rows,
    }
  })
