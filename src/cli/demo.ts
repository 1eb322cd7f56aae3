// `convohouse demo`: shows the main features without an account. A sandbox in this process serves the API; everything else is real.

import { mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { drainAll } from '../../workflows/ingest.ts'
import type { SyncReport } from '../../workflows/steps.ts'
import { spoolOf } from '../app/spool.ts'
import { type App, openApp } from '../app.ts'
import { type Clock, systemClock } from '../clock.ts'
import { CONFIG_FILE, type Config, readConfig } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import { DAY, SECOND } from '../core/time.ts'
import { count, counted } from '../core/words.ts'
import { makeFolder } from '../files/durable.ts'
import { publish } from '../publish/publish.ts'
import { openIntake } from '../receiver/intake.ts'
import { type EmbeddedOptions, PLAIN_SYNC, planOnly, syncOnce } from '../run/embedded.ts'
import { SANDBOX_DEFAULTS } from '../sandbox/options.ts'
import { type Sandbox, startSandbox } from '../sandbox/server.ts'
import { DEFAULT_WEBHOOK_SECRET } from '../sandbox/webhooks.ts'
import { queryWarehouse } from '../warehouse/query/warehouse-client.ts'
import { serveDashboard } from './demo-dashboard.ts'
import { invalidFlag, newPath } from './flags/values.ts'
import { writeResult } from './output/write.ts'
import { planLines } from './plan.ts'
import { chooseDisplays } from './sync/displays.ts'
import { plannedBy } from './sync/progress.ts'
import { gridOnStdout } from './terminal/columns.ts'
import { print } from './terminal/print.ts'
import { type Stop, stopOnSignals } from './terminal/signals.ts'
import { isTerminal, styleOf } from './terminal/style.ts'

export const define = (command: Command): Command =>
  command
    .option(
      '--home <folder>',
      'empty folder for the warehouse (default: a new temporary folder, which is kept)',
      newPath('--home'),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse demo
  $ convohouse demo --home ./demo-data

On a terminal it then serves the dashboard, at http://127.0.0.1:8790/ or a free port, until Ctrl-C.`,
    )
    .action(async (flags: { home?: string }) => {
      await runDemo(flags)
    })

const AGENTS = 3
const CONVERSATIONS = 2_000
const ARRIVALS_PER_DAY = 80
const LATER_DAYS = 2
/** Days of which the webhook events, which have the transcripts, are received. */
const EVENT_DAYS = 14
const QUERY_TIMEOUT_MS = 30 * SECOND

interface Demo {
  config: Config
  stop: Stop
  clock: Clock
}

/** Returns the demo's clock, which follows the sandbox's: it starts days behind the machine's. */
const clockOf = ({ clock }: Sandbox): Clock => ({
  now: () => clock.now(),
  sleepUntil: (untilMs, signal) => systemClock.sleepUntil(systemClock.now() + untilMs - clock.now(), signal),
})

const heading = (text: string): void => print('', styleOf(process.stdout)('bold', `── ${text}`), '')

/** Returns the folder that `--home` names, else a new temporary folder. @throws FLAG_INVALID if the named folder is not empty */
async function folderFor(home: string | undefined): Promise<string> {
  if (home === undefined) return mkdtemp(join(tmpdir(), 'convohouse-demo-'))
  const folder = resolve(home)
  await makeFolder(folder)
  if ((await readdir(folder)).length === 0) return folder
  throw invalidFlag(`--home: ${folder} is not empty.`, 'Give an empty folder, or one that does not exist yet.')
}

/** The data are generated, so the dashboard may show names and transcripts. */
const configText = (url: string): string => `# Written by \`convohouse demo\`.
home: .
serve:
  pii: { identity: keep, staff: keep, device: keep, content: keep, label: keep }
workspaces:
  - id: ${SANDBOX_DEFAULTS.workspaceId}
    apiUrl: ${url}
    token: { env: CONVOHOUSE_API_TOKEN }
    businessHours: { ${['monday', 'tuesday', 'wednesday', 'thursday', 'friday'].map(day => `${day}: 08:00-18:00`).join(', ')} }
    sla:
      - { name: standard, firstResponse: 1m, firstHumanResponse: 15m, nextResponse: 5m, handoff: 5m, hours: business }
`

/** Writes and reads the configuration. With so little data, a second thread of DuckDB costs more than it saves. */
async function configFor({ url }: Sandbox, home: string): Promise<Config> {
  const path = join(home, CONFIG_FILE)
  await writeFile(path, configText(url))
  return { ...readConfig({ path, env: { CONVOHOUSE_API_TOKEN: SANDBOX_DEFAULTS.token } }), threads: 1 }
}

const optionsFor = ({ config, stop, clock }: Demo, app: App): EmbeddedOptions => ({
  config,
  workspace: config.workspaces[0]!,
  app,
  request: PLAIN_SYNC,
  signal: stop.aborted,
  stopping: stop.stopping,
  clock,
})

/** Opens the app for one step only, so that other processes can read the warehouse between the steps. */
async function withApp<T>(demo: Demo, work: (options: EmbeddedOptions) => Promise<T>): Promise<T> {
  const app = await openApp({ config: demo.config })
  try {
    return await work(optionsFor(demo, app))
  } finally {
    await app.close()
  }
}

async function showPlan({ clock = systemClock, ...options }: EmbeddedOptions): Promise<void> {
  const { resourceRequests, ...prepared } = await planOnly({ ...options, clock })
  const facts = { workspaceId: options.workspace.id, prepared, resourceRequests, nowMs: clock.now() }
  print(...planLines(facts, gridOnStdout()))
}

async function sync(options: EmbeddedOptions): Promise<SyncReport> {
  const display = (await chooseDisplays({ json: false, several: false, clock: options.clock })).of(options.workspace.id)
  try {
    const confirm: EmbeddedOptions['confirm'] = async prepared => {
      display.planned(plannedBy(prepared))
      return true
    }
    const report = await syncOnce({ ...options, onProgress: display.news, onPage: display.page, confirm })
    if (report) display.report(report)
    if (report?.outcome === 'done') return report
    throw new ConvohouseError('INTERRUPTED', { what: 'The demo was stopped.' })
  } finally {
    display.end()
  }
}

/** Receives the sandbox's events of the last days, and applies them. */
async function receive(sandbox: Sandbox, { app, workspace, config: { home }, clock = systemClock }: EmbeddedOptions) {
  const intake = openIntake({ home, workspaces: [{ id: workspace.id, secrets: [DEFAULT_WEBHOOK_SECRET] }] })
  const events = [...sandbox.world.events(clock.now() - EVENT_DAYS * DAY, clock.now())]
  const bodies = events.map(({ payload }) => JSON.stringify({ ...payload, workspaceSecret: DEFAULT_WEBHOOK_SECRET }))
  await Promise.all(bodies.map(body => intake.take(Buffer.from(body), null)))
  await intake.close()
  await drainAll(spoolOf({ app, home, workspace, now: clock.now }), workspace.id)
  print(`${counted(events.length, 'webhook event')} of the last ${EVENT_DAYS} days received, with the transcripts.`, '')
}

async function held({ app }: EmbeddedOptions): Promise<number> {
  const [row] = await app.warehouse.writer.rows<{ n: number }>(
    'SELECT count(*)::INTEGER AS n FROM conversations WHERE _complete',
  )
  return row!.n
}

async function ask({ config, stop }: Demo, queries: readonly DemoQuery[]): Promise<void> {
  const style = styleOf(process.stdout)
  for (const { title, sql } of queries) {
    print(style('bold', title), ...sql.split('\n').map(line => style('dim', `  ${line}`)), '')
    const result = await queryWarehouse(config, { sql, timeoutMs: QUERY_TIMEOUT_MS, signal: stop.stopping })
    await writeResult({ result, format: 'table', to: process.stdout })
    print('')
  }
}

const NEXT_QUESTION =
  'SELECT channel, sum(conversations) AS conversations, round(100 * sum(ever_resolved) / sum(conversations), 1) AS resolved_percent FROM marts.conversations_daily GROUP BY ALL ORDER BY conversations DESC'

const ending = (home: string): string[] => [
  `The warehouse is kept in ${home}. To query it:`,
  `  CONVOHOUSE_HOME=${home} convohouse query "${NEXT_QUESTION}"`,
  `  CONVOHOUSE_HOME=${home} convohouse status`,
  'To see the dashboard:',
  `  convohouse serve --config ${join(home, CONFIG_FILE)}`,
  'To use your own account: `convohouse init` writes a commented convohouse.yaml, then `convohouse plan` shows what a sync would read and cost.',
]

async function play(demo: Demo, sandbox: Sandbox): Promise<void> {
  heading('The plan of the first sync')
  await withApp(demo, showPlan)
  heading('The first sync')
  await withApp(demo, sync)
  heading('Questions')
  await ask(demo, DEMO_QUERIES)
  heading(`${LATER_DAYS} days later`)
  sandbox.clock.advance(LATER_DAYS * DAY)
  const heldBefore = await withApp(demo, held)
  await withApp(demo, options => receive(sandbox, options))
  const second = await withApp(demo, sync)
  const arrived = (await withApp(demo, held)) - heldBefore
  print('', secondSyncText({ arrived, again: second.conversations - arrived, heldBefore }))
}

/** Describes the second sync. `again` counts conversations that were exported again: changed ones, and the weekly sample. */
function secondSyncText({ arrived, again, heldBefore }: { arrived: number; again: number; heldBefore: number }) {
  const exported = `Exported: ${counted(arrived, 'new conversation')}.`
  const stored = `the ${count(heldBefore)} existing ones`
  if (again === 0) return `${exported} None of ${stored} was exported again.`
  return `${exported} Of ${stored}, ${count(again)} were exported again: those that events report as changed, and a random sample, to measure how stale the others are.`
}

/** Publishes the snapshot that the dashboard reads, so that its first page has figures. */
async function publishSnapshot({ config, stop }: Demo, { warehouse }: App): Promise<void> {
  const { home, threads, extensions, models, serve } = config
  const settings = { ...config.publish, threads, extensions, models }
  await publish({ warehouse, home, target: serve.target, settings, signal: stop.stopping })
}

/** @throws FLAG_INVALID, INTERRUPTED */
async function runDemo({ home }: { home?: string }): Promise<void> {
  const stop = stopOnSignals()
  try {
    const folder = await folderFor(home)
    await tour(folder, stop)
    if (!isTerminal(process.stdout)) return
    print('')
    await serveDashboard(folder, stop)
  } finally {
    stop.release()
  }
}

/** Plays the demo, with the sandbox that it needs. */
async function tour(folder: string, stop: Stop): Promise<void> {
  const sandbox = await startSandbox({
    port: 0,
    agents: AGENTS,
    conversations: CONVERSATIONS,
    arrivalsPerDay: ARRIVALS_PER_DAY,
    // By the time that a user looks at the warehouse, the later days have passed.
    startMs: Date.now() - LATER_DAYS * DAY,
  })
  try {
    print(
      `A sandbox on ${sandbox.url} serves the API: ${AGENTS} agents, ${count(CONVERSATIONS)} conversations. No account is needed, and nothing leaves this machine.`,
    )
    const demo = { config: await configFor(sandbox, folder), stop, clock: clockOf(sandbox) }
    await play(demo, sandbox)
    if (isTerminal(process.stdout)) await withApp(demo, ({ app }) => publishSnapshot(demo, app))
    heading('Next steps')
    print(...ending(folder))
  } finally {
    await sandbox.close()
  }
}

interface DemoQuery {
  title: string
  sql: string
}

/** Queries for figures of the marts, which exclude test conversations. */
export const DEMO_QUERIES: readonly DemoQuery[] = [
  {
    title: 'Volume: how many conversations has each agent had, and on which channels?',
    sql: `SELECT agent_title AS agent, channel, sum(conversations)::BIGINT AS conversations, sum(messages)::BIGINT AS messages
FROM marts.conversations_daily GROUP BY ALL ORDER BY conversations DESC LIMIT 8`,
  },
  {
    title: 'Resolution: how many are resolved, and how many needed a person?',
    sql: `SELECT agent_title AS agent, round(100 * avg(is_resolved::INT), 1) AS resolved_percent,
  round(100 * avg((handoffs > 0)::INT), 1) AS handoff_percent, round(median(handoff_longest_wait_seconds)) AS median_wait_seconds
FROM marts.fct_conversations WHERE is_counted GROUP BY ALL ORDER BY agent`,
  },
  {
    title: 'Satisfaction: how do customers rate it, month by month?',
    sql: `SELECT strftime(day, '%Y-%m') AS month, count(*) AS answers, round(avg(csat_score), 2) AS satisfaction, round(avg(csat_ease), 2) AS ease
FROM marts.fct_csat WHERE is_counted GROUP BY ALL ORDER BY month`,
  },
  {
    title: 'Cost: how many tokens does each model use, and what do they cost?',
    sql: `SELECT model_id AS model, sum(tokens)::BIGINT AS tokens, round(sum(tokens_usd), 2) AS usd
FROM marts.token_usage_daily GROUP BY ALL ORDER BY usd DESC`,
  },
]
