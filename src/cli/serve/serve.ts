// `convohouse serve`: answers SQL and figures over HTTP until it is stopped. This process never loads DuckDB.
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { openStores } from '../../app/stores.ts'
import type { ListenAddress } from '../../config/address.ts'
import type { Config } from '../../config.ts'
import { EXIT_CODES } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import { restrictUmask } from '../../files/durable.ts'
import { connectToSupervisor } from '../../run/supervision/child.ts'
import { isLoopback } from '../../serve/access/request-rules.ts'
import { HIDDEN_KEYS } from '../../serve/http/health-route.ts'
import { keepOwnSnapshot } from '../../serve/own-snapshot.ts'
import { startServe } from '../../serve/serve.ts'
import { configArgs, configOrHome } from '../flags/configuration.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { listenAddress } from '../flags/values.ts'
import { packageFacts } from '../package-facts.ts'
import { log, print, printJsonLine, stampLines } from '../terminal/print.ts'
import { endOnParentRequest, type Stop, stopOnSignals, untilStopping } from '../terminal/signals.ts'
import { openServing, WEB } from './serving.ts'

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .option(
      '--address <host:port>',
      'address to listen on (default: as configured, else 127.0.0.1:8790)',
      listenAddress('--address'),
    )
    .option('--json', 'print the address as one JSON object')
    .addOption(new Option('--supervised').hideHelp())
    .addOption(new Option('--publish').hideHelp())
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse serve
  $ curl --json '{"sql": "FROM marts.conversations_daily LIMIT 5"}' http://127.0.0.1:8790/v1/query
  $ convohouse serve --address 0.0.0.0:8790            needs tokens: \`convohouse token create NAME\`

It reads a published snapshot, and works while a sync runs. Programs on this machine need no token until the first one is created.
\`convohouse up\` serves too if the configuration has \`serve\`. docs/serving.md describes routes, tokens, personal data and proxies.`,
    )
    .action(async (flags: ServeFlags) => {
      process.exitCode = await runServe(flags)
    })

interface ServeFlags {
  config?: string
  address?: ListenAddress
  json?: boolean
  /** Set by `up`. */
  supervised?: boolean
  /** Set by `serve` for the process that publishes its snapshot. */
  publish?: boolean
}

/** Starts another command with the same configuration. */
function startOther({ config }: ServeFlags, args: readonly string[], signal: AbortSignal): ChildProcess {
  const all = [...process.execArgv, process.argv[1]!, ...args, ...configArgs(config)]
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'pipe'], signal })
  // The signal's abort is one; others end its output.
  child.on('error', () => {})
  return child
}

const HIDDEN: ReadonlySet<string> = new Set(HIDDEN_KEYS)

/** Returns what `status --json` prints, without the keys that `/v1/health` leaves out; null if it fails. */
async function pipelineState(flags: ServeFlags, signal: AbortSignal): Promise<Record<string, unknown> | null> {
  const child = startOther(flags, ['status', '--json'], signal)
  child.stderr!.resume()
  try {
    return JSON.parse(await text(child.stdout!), (key, value) => (HIDDEN.has(key) ? undefined : value))
  } catch {
    return null
  }
}

/** Publishes our own snapshot in another process, and logs why it failed. */
async function publishOwn(flags: ServeFlags, signal: AbortSignal): Promise<'done' | 'failed' | 'gave way'> {
  const child = startOther(flags, ['serve', '--publish'], signal)
  child.stdout!.resume()
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const said = await text(child.stderr!)
  const code = await ended
  if (code === EXIT_CODES.ok) return 'done'
  if (code === EXIT_CODES.interrupted || signal.aborted) return 'gave way'
  log(said.trimEnd())
  return 'failed'
}

/** Runs until it is stopped; returns the exit code. @throws CONFIG_INVALID, CONFIG_MISSING, ADDRESS_IN_USE, HOME_UNUSABLE */
async function runServe(flags: ServeFlags): Promise<number> {
  const config = configOrHome(flags.config)
  restrictUmask()
  if (flags.publish) return (await import('./publish-own.ts')).publishOwnSnapshot(config)
  if (!flags.supervised) stampLines()
  // First: it decides which signals `stopOnSignals` listens to.
  const parent = flags.supervised ? connectToSupervisor(endOnParentRequest().stop) : null
  const stop = stopOnSignals()
  try {
    await serveUntil(config, flags, { stop, ready: () => parent?.ready() })
    return EXIT_CODES.ok
  } finally {
    stop.release()
  }
}

const CLOSE_MS = 5 * SECOND

async function serveUntil(
  config: Config,
  flags: ServeFlags,
  { stop, ready }: { stop: Stop; ready: () => void },
): Promise<void> {
  const { home, serve, publish } = config
  const { stopping } = stop
  const tokens = openStores(home).accessTokens
  const settings = { ...serve, ...(flags.address && { address: flags.address }) }
  const { readers, ...serving } = await openServing(config, join(home, 'serve', 'readers'))
  try {
    const running = await startServe({
      ...{ settings, tokens, readers, ...serving, version: packageFacts().version, web: WEB },
      pipeline: () => pipelineState(flags, stopping),
    })
    if (flags.json) printJsonLine({ url: running.url, port: running.port, snapshot: serve.target.path })
    else print(`Serving ${serve.target.path} at ${running.url}.`)
    if (!isLoopback(settings.address.host) && (await tokens.names()).length === 0)
      log(
        'No token exists, so every request is refused: `convohouse token create NAME` creates one, without a restart.',
      )
    // In `up`, another process holds the warehouse, and publishes.
    const keeping =
      serve.isOwn && !flags.supervised
        ? keepOwnSnapshot({ home, everyMs: publish.everyMs, publish: () => publishOwn(flags, stopping) }, stopping)
        : null
    ready()
    await untilStopping(stop)
    await running.closeWithin(CLOSE_MS)
    await keeping
  } finally {
    await readers.close()
  }
}
