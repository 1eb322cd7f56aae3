// `convohouse demo`: shows the main features without an account. A sandbox in this process serves the API; everything else is real.

import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { SyncReport } from '../../workflows/steps.ts'
import { type App, openApp } from '../app.ts'
import { type Clock, systemClock } from '../clock.ts'
import { type Config, readConfig } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import { DAY, HOUR, SECOND } from '../core/time.ts'
import { count, counted } from '../core/words.ts'
import { makeFolder } from '../files/durable.ts'
import { type EmbeddedOptions, PLAIN_SYNC, planOnly, syncOnce } from '../run/embedded.ts'
import { startIngest } from '../run/ingest.ts'
import { SANDBOX_DEFAULTS } from '../sandbox/options.ts'
import { type Sandbox, startSandbox } from '../sandbox/server.ts'
import { spoolWaiting } from '../spool/waiting.ts'
import { queryWarehouse } from '../warehouse/query/warehouse-client.ts'
import { filled, invalidFlag } from './flags/values.ts'
import { writeResult } from './output/write.ts'
import { planLines } from './plan/plan.ts'
import { openReceiver } from './receive.ts'
import { chooseDisplays } from './sync/displays.ts'
import { plannedBy } from './sync/progress.ts'
import { gridOnStdout } from './terminal/columns.ts'
import { print } from './terminal/print.ts'
import { type Stop, stopOnSignals } from './terminal/signals.ts'
import { styleOf } from './terminal/style.ts'

export const define = (command: Command): Command =>
  command
    .option(
      '--home <folder>',
      'empty folder for the warehouse (default: a new temporary folder, which is kept)',
      filled('--home'),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse demo
  $ convohouse demo --home ./demo-data`,
    )
    .action(async (flags: { home?: string }) => {
      await runDemo(flags)
    })

const AGENTS = 3
const CONVERSATIONS = 2_000
const ARRIVALS_PER_DAY = 80
const LATER_DAYS = 2
const QUERY_TIMEOUT_MS = 30 * SECOND

interface Demo {
  config: Config
  stop: Stop
  clock: Clock
}

/** The sandbox's clock is days behind the machine's at first: the demo lives by it. */
const clockOf = ({ clock }: Sandbox): Clock => ({
  now: () => clock.now(),
  sleepUntil: (untilMs, signal) => systemClock.sleepUntil(systemClock.now() + untilMs - clock.now(), signal),
})

const heading = (text: string): void => print('', styleOf(process.stdout)('bold', `── ${text}`), '')

/** The folder that `--home` names, else a new temporary folder. @throws FLAG_INVALID if the named folder is not empty */
async function folderFor(home: string | undefined): Promise<string> {
  if (home === undefined) return mkdtemp(join(tmpdir(), 'convohouse-demo-'))
  const folder = resolve(home)
  await makeFolder(folder)
  if ((await readdir(folder)).length === 0) return folder
  throw invalidFlag(`--home: ${folder} is not empty.`, 'Give an empty folder, or one that does not exist yet.')
}

/** Ids of the pages of crawler jobs by job: the API lists none, so a user configures them. */
async function crawlerPagesOf({ url }: Sandbox): Promise<Record<string, string[]>> {
  const answer = await fetch(`${url}/_sandbox/resources`)
  const { crawlerJobs } = (await answer.json()) as { crawlerJobs: { id: string; pages: string[] }[] }
  return Object.fromEntries(crawlerJobs.map(({ id, pages }) => [id, pages]))
}

async function configFor(sandbox: Sandbox, home: string): Promise<Config> {
  const config = readConfig({
    env: {
      CONVOHOUSE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      CONVOHOUSE_API_URL: sandbox.url,
      CONVOHOUSE_API_TOKEN: SANDBOX_DEFAULTS.token,
      CONVOHOUSE_WORKSPACE: SANDBOX_DEFAULTS.workspaceId,
      CONVOHOUSE_HOME: home,
    },
  })
  const crawlerPages = await crawlerPagesOf(sandbox)
  const workspaces = config.workspaces.map(workspace => ({ ...workspace, crawlerPages }))
  return { ...config, workspaces, webhooks: { ...config.webhooks, port: 0 } }
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

const ending = (home: string): string[] => [
  `The warehouse is kept in ${home}. To query it:`,
  `  CONVOHOUSE_HOME=${home} npx convohouse query "SHOW TABLES"`,
  `  CONVOHOUSE_HOME=${home} npx convohouse status`,
  'To use your own account:',
  '  npx convohouse init     writes a commented convohouse.yaml',
  '  npx convohouse plan     shows what a sync would read; it costs no session',
  '  npx convohouse sync',
  '  npx convohouse publish  copies it for dashboards and notebooks, to the `targets` of that file',
]

async function play(demo: Demo, sandbox: Sandbox): Promise<void> {
  heading('The plan of the first sync')
  await withApp(demo, showPlan)
  heading('The first sync')
  await withApp(demo, sync)
  heading('Questions')
  await ask(demo, DEMO_QUERIES)
  heading('Conversations continue')
  const changed = await withApp(demo, ({ app, config }) => showEvents({ app, config, sandbox }))
  await ask(demo, eventQueries(changed))
  heading(`${LATER_DAYS} days later`)
  sandbox.clock.advance(LATER_DAYS * DAY)
  const heldBefore = await withApp(demo, held)
  const second = await withApp(demo, sync)
  const arrived = (await withApp(demo, held)) - heldBefore
  const again = second.conversations - arrived
  print('', ...secondSyncLines({ arrived, again, heldBefore }))
}

/** The result of the second sync. `again`: the number of conversations exported again as part of the weekly sample; may be 0. */
function secondSyncLines({
  arrived,
  again,
  heldBefore,
}: {
  arrived: number
  again: number
  heldBefore: number
}): string[] {
  const exported = `Exported: ${counted(arrived, 'new conversation')}.`
  const stored = `the ${count(heldBefore)} existing ones`
  if (again === 0) return [`${exported} None of ${stored} was exported again.`]
  return [
    `${exported} Of ${stored}, a random sample of ${count(again)} was exported again`,
    'to measure how stale the others are.',
  ]
}

/** @throws FLAG_INVALID, INTERRUPTED */
async function runDemo({ home }: { home?: string }): Promise<void> {
  const stop = stopOnSignals()
  const folder = await folderFor(home)
  const sandbox = await startSandbox({
    port: 0,
    agents: AGENTS,
    conversations: CONVERSATIONS,
    arrivalsPerDay: ARRIVALS_PER_DAY,
    // So the later days, and the time that events advance the clock by, have passed when somebody looks at the warehouse afterwards.
    startMs: Date.now() - LATER_DAYS * DAY - 2 * HOUR,
    traffic: true,
  })
  try {
    print(
      `A sandbox on ${sandbox.url} serves the API: ${AGENTS} agents, ${count(CONVERSATIONS)} conversations. No account is needed, and nothing leaves this machine.`,
    )
    await play({ config: await configFor(sandbox, folder), stop, clock: clockOf(sandbox) }, sandbox)
    heading('Next steps')
    print(...ending(folder))
  } finally {
    await sandbox.close()
    stop.release()
  }
}

interface DemoQuery {
  title: string
  sql: string
}

/** Figures of the marts, which leave test conversations out. */
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

/** A conversation that changed after its export. */
interface Conversation {
  id: string
}

const eventQueries = ({ id }: Conversation): DemoQuery[] => [
  {
    title: 'A conversation as exported, and as updated by its events since:',
    sql: `SELECT observed_at, source, state, chat_assigned_to AS assignee, token_usage_cumulative_total_tokens AS tokens
FROM conversation_observations WHERE conversation_id = '${id}' ORDER BY version, observed_at LIMIT 6`,
  },
  {
    title: 'Its last turns, which no export contains:',
    sql: `SELECT position, role, left(text, 60) AS said FROM conversation_turns
WHERE conversation_id = '${id}' ORDER BY position DESC LIMIT 3`,
  },
  {
    title: 'How long after receipt was an event in the tables?',
    sql: `SELECT type, count(*) AS events, round(quantile_cont(epoch_ms(_loaded_at) - epoch_ms(received_at), 0.95) / 1000, 1) AS seconds_p95
FROM webhook_events GROUP BY ALL ORDER BY events DESC`,
  },
]

/** Secret of the sandbox and of the receiver, which both run in this process. */
const WEBHOOK_SECRET = 'demo-webhook-secret'

/** The sandbox's clock advances in steps of this length until a stored conversation has changed. */
const STEP_MS = HOUR
const CHECK_EVERY_MS = 200

/** Finds a conversation whose state, assignee or cost was changed by an event after its export. */
const CHANGED = `SELECT o.conversation_id AS id
  FROM conversation_observations o JOIN conversation_observations e USING (workspace_id, agent_id, conversation_id)
  WHERE o.source = 'webhook' AND e.source = 'export' AND (o.state, o.chat_assigned_to, o.token_usage_cumulative_total_tokens)
    IS DISTINCT FROM (e.state, e.chat_assigned_to, e.token_usage_cumulative_total_tokens)
  ORDER BY o.observed_at DESC LIMIT 1`

async function untilApplied(config: Config): Promise<void> {
  const { home, workspaces } = config
  while ((await spoolWaiting(home, workspaces[0]!.id)).events > 0) await sleep(CHECK_EVERY_MS)
}

async function untilChanged(options: { app: App; config: Config; sandbox: Sandbox }): Promise<Conversation> {
  const { app, config, sandbox } = options
  for (;;) {
    sandbox.clock.advance(STEP_MS)
    await sandbox.webhooks.settled()
    await untilApplied(config)
    const [found] = await app.warehouse.writer.rows<Conversation>(CHANGED)
    if (found) return found
  }
}

/** Advances the sandbox until a stored conversation has changed and its events are in the tables; returns that conversation. */
async function showEvents(options: { app: App; config: Config; sandbox: Sandbox }): Promise<Conversation> {
  const { app, config, sandbox } = options
  const receiver = await openReceiver(config)
  sandbox.webhooks.set({ url: `${receiver.url}/webhooks`, secret: WEBHOOK_SECRET })
  const ingesting = startIngest({
    config,
    app,
    failing: (_, failure) => {
      if (failure) throw new Error(failure.what)
    },
  })
  try {
    const conversation = await untilChanged(options)
    const [events] = await app.warehouse.writer.rows<{ count: string }>(
      'SELECT count(*)::VARCHAR AS count FROM webhook_events',
    )
    print(
      `The sandbox posted webhooks: ${counted(Number(events!.count), 'event')} applied, without any request to the API.`,
      '',
    )
    return conversation
  } finally {
    sandbox.webhooks.set({ url: null })
    await receiver.closeWithin(0)
    await ingesting.end()
  }
}
