// `convohouse publish`: publishes to the chosen targets, one after the other. If one target fails, the others are still published.

import type { Command } from 'commander'
import type { TargetConfig } from '../../config/targets.ts'
import { type Config, ENVIRONMENT } from '../../config.ts'
import { ConvohouseError, EXIT_CODES, isCode } from '../../core/errors.ts'
import type { PublicationReport } from '../../core/publication-report.ts'
import { formatDuration } from '../../core/time.ts'
import { counted } from '../../core/words.ts'
import { publish } from '../../publish/publish.ts'
import { forgetUnconfigured } from '../../run/publishing.ts'
import { expectWarehouse } from '../../warehouse/open.ts'
import { configAt } from '../flags/configuration.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { openAppWhenReleased } from '../open-app.ts'
import { exitCodeOfAll } from '../sync/report.ts'
import { visible } from '../terminal/controls.ts'
import { errorJson, errorLines, exitCodeOf } from '../terminal/error-text.ts'
import { log, print, printJsonLine } from '../terminal/print.ts'
import { stopOnSignals } from '../terminal/signals.ts'
import { styleOf } from '../terminal/style.ts'
import type { Publisher } from './on-temporal.ts'

export const define = (command: Command): Command =>
  addConfigFlag(command.argument('[target]', 'name of a target (default: all)'))
    .option('--verify', 'then compare rows and checksums of each table in warehouse and target')
    .option('--refill', 'write the target from empty')
    .option('--json', 'one JSON object per target, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse publish                   all targets
  $ convohouse publish dashboards        one of them
  $ convohouse publish --verify

\`sync --watch\`, \`up\` and \`worker\` publish by themselves, at most once per \`publish.every\`. A single \`sync\` does not: publish after it.
While a Temporal worker holds the warehouse, this command asks the worker, which publishes at once.
Readers of a target see the state before a publication, then the state after it. Personal data is hashed or dropped unless the target's \`pii\` keeps it.`,
    )
    .action(async (target: string | undefined, flags: PublishFlags) => {
      process.exitCode = await runPublish(target, flags)
    })

export interface PublishFlags {
  config?: string
  verify?: boolean
  refill?: boolean
  json?: boolean
}

/** Returns the named target, or all. @throws TARGET_UNKNOWN */
function chooseTargets({ targets, source }: Config, name: string | undefined): readonly TargetConfig[] {
  const chosen = name === undefined ? targets : targets.filter(target => target.name === name)
  if (chosen.length > 0) return chosen
  throw new ConvohouseError('TARGET_UNKNOWN', {
    what: targets.length === 0 ? `${source} has no targets.` : `${source} has no target ${JSON.stringify(name)}.`,
    hint:
      targets.length === 0
        ? `${source === ENVIRONMENT ? 'Targets are in a file: `convohouse init` writes one. While CONVOHOUSE_API_URL is set, it is read only if --config or CONVOHOUSE_CONFIG names it. ' : ''}Add one: \`targets: [{ name: dashboards, type: snapshot }]\`.`
        : `Choose one of: ${targets.map(target => target.name).join(', ')}.`,
  })
}

/** Explanations of why a target was written from empty. Other reasons are shown unchanged. */
const REASONS: Readonly<Record<string, string>> = {
  'no watermark': 'it was empty',
  'unknown consumer': 'no changes were kept for it',
  trimmed: 'the changes that it lacked were no longer kept',
  'other epoch': 'all tables had been built again, as after a replay, an upgrade or a change of the time zone',
  'ahead of the log': 'the warehouse is an older one, as after a restore',
  'unknown publication': 'another warehouse had written it, or this one was restored',
  'other policy': 'its configuration or the models had changed',
  memory: 'its process has too little memory for so many changes, `publish.memoryLimit`',
  'erased records': 'records had been erased',
  requested: '--refill',
}

function sentence(report: PublicationReport): string {
  const { kind, reason, rows, tables, durationMs, verified, unmaintained } = report
  const took = `in ${durationMs < 1_000 ? `${durationMs} ms` : formatDuration(durationMs)}`
  const done =
    kind === 'current'
      ? 'has every change already'
      : kind === 'refill'
        ? `written from empty (${REASONS[reason ?? ''] ?? reason}): ${counted(rows, 'row')} of ${counted(tables, 'table')} ${took}`
        : `updated: ${counted(rows, 'row')} of ${counted(tables, 'table')} ${took}`
  return [
    done,
    ...(verified === undefined ? [] : [`${counted(verified, 'table')} compared, all equal`]),
    ...(unmaintained === undefined
      ? []
      : [`its files were not compacted (${unmaintained}), which the next publication repeats`]),
  ].join('; ')
}

/** Publishes in this process, or in the Temporal worker that holds the warehouse. @throws WAREHOUSE_LOCKED */
async function openPublisher(
  config: Config,
  { request, signal }: { request: { refill: boolean; verify: boolean }; signal: AbortSignal },
): Promise<Publisher> {
  const app = await openAppWhenReleased(config).catch((error: unknown) => {
    if (isCode(error, 'WAREHOUSE_LOCKED')) return error
    throw error
  })
  if (app instanceof ConvohouseError) {
    const { publisherOnTemporal } = await import('./on-temporal.ts')
    return publisherOnTemporal(config, { locked: app, request, signal })
  }
  const { warehouse } = app
  const { home, threads, extensions, models, workspaces } = config
  await forgetUnconfigured(warehouse.writer, config.targets)
  const settings = { ...config.publish, threads, extensions, models, workspaces }
  return { publish: target => publish({ warehouse, home, target, settings, ...request, signal }), close: app.close }
}

/**
 * Runs `convohouse publish`; returns the exit code.
 * @throws TARGET_UNKNOWN, CONFIG_INVALID, CONFIG_MISSING, WAREHOUSE_MISSING, WAREHOUSE_LOCKED, HOME_UNUSABLE
 */
async function runPublish(name: string | undefined, flags: PublishFlags): Promise<number> {
  const { json = false, verify = false, refill = false } = flags
  const config = configAt(flags.config)
  const targets = chooseTargets(config, name)
  expectWarehouse(
    config.home,
    'Run `convohouse sync` first; or set the right data folder (`home`, CONVOHOUSE_HOME), if another one has been loaded.',
  )
  const stop = stopOnSignals()
  const publisher = await openPublisher(config, { request: { refill, verify }, signal: stop.stopping })
  const codes: number[] = []
  const warnings = new Set<string>()
  try {
    for (const target of targets) {
      try {
        const report = await publisher.publish(target)
        const { kind: mode, ...rest } = report
        if (json) printJsonLine({ kind: 'published', mode, ...rest })
        else print(`${target.name}: ${sentence(report)}`)
        for (const warning of json ? [] : (report.warnings ?? [])) warnings.add(warning)
        codes.push(EXIT_CODES.ok)
      } catch (error) {
        if (json) printJsonLine({ target: target.name, ...errorJson(error) })
        else log(...errorLines(error, styleOf(process.stderr), target.name))
        codes.push(exitCodeOf(error))
      }
    }
    // Printed once, since they are the same for all targets.
    log(...[...warnings].map(warning => `warning: ${visible(warning)}`))
  } finally {
    await publisher.close()
    stop.release()
  }
  return exitCodeOfAll(codes)
}
