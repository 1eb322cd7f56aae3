// `convohouse receive`: receives webhooks until it is stopped.
import type { Command } from 'commander'
import { type Config, ENVIRONMENT } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import { SECOND } from '../core/time.ts'
import { counted } from '../core/words.ts'
import { makeFolder } from '../files/durable.ts'
import type { WorkspaceSecrets } from '../receiver/authenticate.ts'
import { readWorkspaceSecrets } from '../receiver/authenticate.ts'
import { openIntake } from '../receiver/intake.ts'
import { ReceiverMetrics } from '../receiver/metrics.ts'
import { RefusalReport } from '../receiver/refusal-report.ts'
import { type Receiver, startReceiver } from '../receiver/server.ts'
import { spoolRoot } from '../spool/folders.ts'
import { MetricsPage } from '../telemetry/page.ts'
import { configAt } from './flags/configuration.ts'
import { addConfigFlag } from './flags/sync-flags.ts'
import { filled, whole } from './flags/values.ts'
import { metricsOf } from './open-app.ts'
import { errorLines } from './terminal/error-text.ts'
import { refusedLine } from './terminal/notes.ts'
import { log, print, printJsonLine, stampLines } from './terminal/print.ts'
import { listenInstead, STOPPING, stopOnSignals, untilStopping } from './terminal/signals.ts'
import { isTerminal, styleOf } from './terminal/style.ts'

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)', filled('--host'))
    .option('--port <n>', 'port; 0 takes a free one (default: 8787)', whole('--port', 0, 65_535))
    .option('--json', 'print the address as one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse receive                       listen on 127.0.0.1:8787, behind a TLS proxy
  $ convohouse receive --host 0.0.0.0 --port 80
  $ curl http://127.0.0.1:8787/metrics

An event is written to the spool in the data folder before it is acknowledged. Several receivers may share a data folder.
The configuration of a workspace names its secrets: \`webhooks: { secrets: [{ env: CONVOHOUSE_WEBHOOK_SECRET }] }\`. Without a
configuration file, CONVOHOUSE_WEBHOOK_SECRET is used. SIGHUP rereads the secrets. SIGTERM and Ctrl-C stop the receiver once requests
in flight are on disk. docs/webhooks.md describes the vendor's settings, a TLS proxy, and how to test.`,
    )
    .action(async (flags: ReceiveFlags) => {
      await runReceive(flags)
    })

/** When the receiver closes, requests in flight get this time to finish. */
export const CLOSE_MS = 10 * SECOND

/** True if any workspace has a webhook secret. */
export const hasWebhooks = ({ workspaces }: Config): boolean =>
  workspaces.some(({ readWebhookSecrets }) => readWebhookSecrets !== null)

/** A workspace and its number of valid secrets. */
interface AwaitedWorkspace {
  id: string
  secrets: number
}

export interface OpenedReceiver extends Receiver {
  waitsFor(): AwaitedWorkspace[]
  /** Replaces the secrets with those of the configuration. If it throws, the previous ones stay valid. @throws as `openReceiver` */
  rereadSecrets(config: Config): void
  /** Closes the receiver; requests that are still in flight after `ms` are aborted. */
  closeWithin(ms: number): Promise<void>
}

function secretsOf(config: Config): WorkspaceSecrets[] {
  if (!hasWebhooks(config))
    throw new ConvohouseError('WEBHOOKS_UNCONFIGURED', {
      what: `No workspace has a webhook secret (configuration: ${config.source}).`,
      hint:
        config.source === ENVIRONMENT
          ? 'Set CONVOHOUSE_WEBHOOK_SECRET to the workspace secret, or CONVOHOUSE_WEBHOOK_SECRET_FILE to a file that contains it.'
          : 'Add `webhooks: { secrets: [{ env: CONVOHOUSE_WEBHOOK_SECRET }] }` to a workspace in that file; with a configuration file, the variable alone has no effect.',
    })
  return readWorkspaceSecrets(config)
}

/** @throws WEBHOOKS_UNCONFIGURED, SECRET_MISSING, ADDRESS_IN_USE, CONFIG_INVALID */
export async function openReceiver(config: Config, page = new MetricsPage()): Promise<OpenedReceiver> {
  let workspaces = secretsOf(config)
  const intake = openIntake({ home: config.home, workspaces, onCommit: commit => metrics.commit(commit) })
  const metrics = new ReceiverMetrics({ registry: page.registry, openSegments: () => intake.openSegments() })
  const idsOf = (of: readonly WorkspaceSecrets[]) => of.map(({ id }) => id)
  metrics.expectOf(idsOf(workspaces))
  const report = new RefusalReport({ home: config.home, log: refused => log(refusedLine(refused)) })
  const onRefused: RefusalReport['refuse'] = (reason, workspaceId) => report.refuse(reason, workspaceId)
  const receiver = await startReceiver({ ...config.webhooks, intake, metrics, page, onRefused })
  const close = async () => {
    await receiver.close()
    await report.close()
  }
  return {
    ...receiver,
    close,
    waitsFor: () => workspaces.map(({ id, secrets }) => ({ id, secrets: secrets.length })),
    rereadSecrets(current) {
      workspaces = secretsOf(current)
      intake.setSecrets(workspaces)
      metrics.expectOf(idsOf(workspaces))
    },
    async closeWithin(ms) {
      const timer = setTimeout(receiver.abort, ms)
      await close()
      clearTimeout(timer)
    },
  }
}

/** Returns text such as `ws_demo (2 secrets)`. */
export const waitsForText = ({ waitsFor }: OpenedReceiver): string =>
  waitsFor()
    .map(({ id, secrets }) => (secrets === 1 ? id : `${id} (${counted(secrets, 'secret')})`))
    .join(', ')

/** True if a person started the process in a terminal. */
const isInTerminal = (): boolean => [process.stdin, process.stdout, process.stderr].some(isTerminal)

/**
 * Rereads the webhook secrets on SIGHUP, until the returned function is called. In a terminal, SIGHUP ends the process as usual. Call
 * this before announcing the receiver's address. Until the receiver is open, `receiver` returns undefined and SIGHUP is ignored.
 */
export function rereadSecretsOnSighup(options: {
  receiver: () => OpenedReceiver | undefined
  /** @throws CONFIG_INVALID, CONFIG_MISSING */
  readConfig: () => Config
  announce: (receiver: OpenedReceiver) => void
}): () => void {
  if (isInTerminal()) return () => {}
  return listenInstead('SIGHUP', () => {
    const receiver = options.receiver()
    if (receiver === undefined) return
    try {
      receiver.rereadSecrets(options.readConfig())
      options.announce(receiver)
    } catch (error) {
      log(...errorLines(error, styleOf(process.stderr)), 'The previous secrets stay valid.')
    }
  })
}

export interface ReceiveFlags {
  config?: string
  host?: string
  port?: number
  json?: boolean
}

function announce(receiver: OpenedReceiver, json: boolean | undefined): void {
  const { url, port, waitsFor } = receiver
  if (json) printJsonLine({ url, port, workspaces: waitsFor() })
  else
    print(
      `Listening for webhooks of ${waitsForText(receiver)} at ${url}/webhooks; metrics at ${url}/metrics.`,
      'Press Ctrl-C to stop.',
    )
}

/** @throws CONFIG_INVALID, CONFIG_MISSING, WEBHOOKS_UNCONFIGURED, SECRET_MISSING, ADDRESS_IN_USE, HOME_UNUSABLE */
async function runReceive(flags: ReceiveFlags): Promise<void> {
  stampLines()
  const { host, port, json } = flags
  const config = configAt(flags.config)
  const webhooks = { ...config.webhooks, ...(host !== undefined && { host }), ...(port !== undefined && { port }) }
  let receiver: OpenedReceiver | undefined
  const stopRereading = rereadSecretsOnSighup({
    receiver: () => receiver,
    readConfig: () => configAt(flags.config),
    announce: opened => announce(opened, json),
  })
  const stop = stopOnSignals(() => log(STOPPING))
  try {
    await makeFolder(spoolRoot(config.home))
    const opened = await openReceiver({ ...config, webhooks }, metricsOf(config, 'receive'))
    receiver = opened
    announce(opened, json)
    stop.aborted.addEventListener('abort', () => opened.abort(), { once: true })
    await untilStopping(stop)
    await opened.closeWithin(CLOSE_MS)
  } finally {
    stop.release()
    stopRereading()
  }
}
