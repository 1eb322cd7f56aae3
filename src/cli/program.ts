// The command line, one line per command. A command's module declares flags, examples and action, and is loaded on demand.
import { Command } from 'commander'
import { packageFacts } from './package-facts.ts'
import { asRunHere } from './terminal/command-name.ts'

interface CommandModule {
  /** Adds arguments, flags, help and the action. */
  define(command: Command): unknown
}

const control = () => import('./control.ts')

const COMMANDS: readonly [name: string, about: string, load: () => Promise<CommandModule>][] = [
  ['init', 'write a commented convohouse.yaml into this folder', () => import('./init.ts')],
  ['plan', 'show what a sync would read and cost; costs no session', () => import('./plan.ts')],
  ['sync', 'export new conversations, land them, and load them into the warehouse', () => import('./sync/command.ts')],
  [
    'up',
    'run everything in one process: a Temporal server, a worker and the schedules, until Ctrl-C',
    () => import('./up/up.ts'),
  ],
  ['worker', 'run a Temporal worker: for exports, for the warehouse, or both', () => import('./worker.ts')],
  ['receive', "receive the vendor's webhooks until it is stopped", () => import('./receive.ts')],
  [
    'schedule',
    'recurring syncs by Temporal: ensure, list, pause, resume, trigger, backfill, delete',
    () => import('./schedule.ts'),
  ],
  ['pause', 'pause the sync on Temporal: it makes no requests until it is resumed', control],
  ['resume', 'resume a paused sync', control],
  ['allow', 'raise the session limit of the sync on Temporal', control],
  ['cancel', 'end the sync on Temporal; a cancelled full export continues only with `sync --full`', control],
  [
    'status',
    'show what is stored, how current it is, and what is left of the quota',
    () => import('./status/status.ts'),
  ],
  [
    'ledger',
    'compare what the vendor reported with what the tables contain, and explain the differences',
    () => import('./ledger/ledger.ts'),
  ],
  [
    'doctor',
    'check everything that a sync depends on, and explain how to fix problems; costs no session',
    () => import('./doctor/doctor.ts'),
  ],
  ['check', 'run the checks of the tables, and your own; works while a sync runs', () => import('./check.ts')],
  ['query', 'run one SELECT; works while a sync runs', () => import('./query/query.ts')],
  [
    'publish',
    'publish what changed in the warehouse to the configured targets, for dashboards and notebooks',
    () => import('./publish/publish.ts'),
  ],
  ['serve', 'answer SQL and figures over HTTP from a published snapshot', () => import('./serve/serve.ts')],
  [
    'mcp',
    'answer an assistant (MCP) from a published snapshot, over standard input and output',
    () => import('./mcp.ts'),
  ],
  ['token', 'tokens of `serve`: create, list, revoke', () => import('./token.ts')],
  ['quarantine', 'records that could not be loaded: list them, show one, retry them', () => import('./quarantine.ts')],
  [
    'dictionary',
    'print the data dictionary: every table and view with its columns, or one of them',
    () => import('./dictionary.ts'),
  ],
  ['api', "call one operation of the vendor's API: JSON in and out", () => import('./api/api.ts')],
  [
    'replay',
    'rebuild the warehouse from landed pages and received events, without a request',
    () => import('./replay.ts'),
  ],
  ['prune', 'remove landed pages and event payloads that are older than `retention`', () => import('./prune.ts')],
  [
    'forget',
    'erase people on request, everywhere, and keep them away: landing, warehouse, targets',
    () => import('./forget/forget.ts'),
  ],
  ['erasures', 'list the receipts of `forget`, and what is still open', () => import('./erasures.ts')],
  ['sandbox', "serve the vendor's API with generated data until it is stopped", () => import('./sandbox.ts')],
  ['demo', 'try it without an account: a sandbox, a sync, queries, and a second sync', () => import('./demo.ts')],
]

const DESCRIPTION = "Every conversation of a workspace's AI agents, in a DuckDB warehouse that you own."

const GUIDE = `
Try it without an account:   convohouse demo
Start with your own:         convohouse init, then convohouse plan, then convohouse sync

A single workspace needs no configuration file: set CONVOHOUSE_API_URL, CONVOHOUSE_API_TOKEN (or CONVOHOUSE_API_TOKEN_FILE, the path of
a file that holds it), CONVOHOUSE_WORKSPACE, and CONVOHOUSE_HOME for the data folder. \`convohouse COMMAND --help\` shows examples.`

/**
 * Creates commander's program. It prints help, but throws usage errors (as commander's) instead of printing them. Only
 * commands named in `args` get their flags; without `args`, all do.
 */
export async function createProgram(args?: readonly string[]): Promise<Command> {
  const program = new Command('convohouse')
    .description(DESCRIPTION)
    .version(packageFacts().version, '-V, --version', 'print the version')
    .option('--verbose', 'show the stack of an error')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeErr: () => {}, writeOut: text => process.stdout.write(asRunHere(text)) })
    .exitOverride()
    .addHelpText('after', GUIDE)
  for (const [name, about, load] of COMMANDS) {
    const command = program.command(name).description(about).copyInheritedSettings(program)
    if (args && !args.includes(name)) continue
    const { define } = await load()
    define(command)
    for (const below of command.commands) below.copyInheritedSettings(program)
  }
  return program
}
