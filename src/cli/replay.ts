// `convohouse replay`: rebuilds the warehouse from landed pages, without any request.

import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { ConvohouseError } from '../core/errors.ts'
import { formatDuration, SECOND } from '../core/time.ts'
import { count, counted } from '../core/words.ts'
import type { ReplayOptions, ReplayReport } from '../run/rebuild.ts'
import { replay } from '../run/replay.ts'
import { warehouseFile } from '../warehouse/warehouse-file.ts'
import { chooseWorkspaces, configAt } from './flags/configuration.ts'
import { addConfigFlag, addWorkspaceFlag } from './flags/sync-flags.ts'
import { linesIf, log, print, printJsonLine } from './terminal/print.ts'
import { stopOnSignals } from './terminal/signals.ts'

export const define = (command: Command): Command =>
  addWorkspaceFlag(addConfigFlag(command))
    .option('--allow-incomplete', 'continue if source files are missing; rows that only they supplied are kept')
    .option('--drop-expired', 'continue from a warehouse of another layout without rows that only it has')
    .option('--json', 'one JSON object per line, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse replay                        after an update that adds fields, or when the warehouse was damaged or refused

The old warehouse answers queries until the new one is complete and replaces it. Its runs, other workspaces, and rows whose files have
expired (\`prune\`) are kept. A warehouse of another layout is moved aside instead.`,
    )
    .action(async (flags: ReplayFlags) => {
      await runReplay(flags)
    })

export interface ReplayFlags {
  config?: string
  workspace?: string
  allowIncomplete?: boolean
  dropExpired?: boolean
  json?: boolean
}

type ReplayProgress = Parameters<NonNullable<ReplayOptions['onProgress']>>[0]

const LINE_EVERY_MS = 5 * SECOND

const progressLine = ({ workspaceId, files, of, records }: ReplayProgress): string =>
  `${workspaceId}: ${count(files)} of ${counted(of, 'page')}, ${counted(records, 'record')}`

/** Reports progress: as a line every five seconds, or as JSON. */
function progressReporter(json: boolean): (progress: ReplayProgress) => void {
  if (json) return progress => printJsonLine({ kind: 'progress', ...progress })
  let lastLineMs = Date.now()
  return progress => {
    if (Date.now() - lastLineMs < LINE_EVERY_MS) return
    lastLineMs = Date.now()
    log(progressLine(progress))
  }
}

const summary = (report: ReplayReport, tookMs: number): string[] => [
  `Rebuilt the warehouse from ${counted(report.files, 'page')} in ${formatDuration(tookMs)}, without a request.`,
  `  ${counted(report.records, 'record')} loaded, ${count(report.quarantined)} quarantined`,
  ...(report.movedTo === null ? [] : [`  The warehouse of another layout is now ${report.movedTo}.`]),
]

const keptLines = ({ keptEvents }: ReplayReport): string[] =>
  linesIf(
    keptEvents > 0,
    `${counted(keptEvents, 'webhook event')} kept from the old warehouse, without payloads: the spool's files have expired, or are missing or damaged.`,
  )

const RESTORE = '  → Restore the warehouse from a backup, then run `convohouse replay` again.'

/** Describes what retention has removed, and where the rows are. */
function expiredLines({ expired, expiredArchives }: ReplayReport, hadWarehouse: boolean): string[] {
  const lost = (what: string, rows: string) =>
    `warning: ${what} had expired, and there was no warehouse with ${rows}: those rows are missing from the tables.`
  const pages = counted(expired, 'page')
  const archives = `${counted(expiredArchives, 'archive file')} of webhook events`
  return [
    ...linesIf(expired > 0 && hadWarehouse, `  ${pages} had expired; the rows that only they supplied were kept.`),
    ...linesIf(
      expired > 0 && !hadWarehouse,
      lost(pages, 'their rows'),
      `${RESTORE} Otherwise a sync may export those months again, and the vendor bills their sessions.`,
    ),
    ...linesIf(expiredArchives > 0, lost(archives, 'the rows of their events'), RESTORE),
  ]
}

/** Returns warnings about damaged spool files and their events. */
const damagedLines = ({ damaged }: ReplayReport, hadWarehouse: boolean): string[] =>
  damaged.flatMap(({ file, why }) => [
    `warning: The spool file ${file} is damaged (${why}). Its readable part was applied${hadWarehouse ? '; the rows of its other events come from the old warehouse' : '; its other events are missing from the tables'}.`,
    `  → Restore it from a backup, then run \`convohouse replay\` again${hadWarehouse ? '; or delete it: only payloads are lost' : ''}.`,
  ])

const stopped = (cause: unknown): ConvohouseError =>
  new ConvohouseError('INTERRUPTED', {
    what: 'Stopped; the warehouse is unchanged.',
    hint: 'Run `convohouse replay` again to rebuild it.',
    cause,
  })

/** @throws WAREHOUSE_LOCKED, LOAD_FAILED, LANDING_CORRUPT, LANDING_INCOMPLETE, REPLAY_LOSES_ROWS, INTERRUPTED */
async function runReplay(flags: ReplayFlags): Promise<void> {
  const { allowIncomplete = false, dropExpired = false } = flags
  const config = configAt(flags.config)
  const workspaces = chooseWorkspaces(config, flags.workspace)
  const onProgress = progressReporter(flags.json === true)
  const stop = stopOnSignals()
  const hadWarehouse = existsSync(warehouseFile(config.home))
  const begunMs = Date.now()
  try {
    const signal = stop.stopping
    const report = await replay({
      ...{ config: { ...config, workspaces }, onProgress, signal, allowIncomplete, dropExpired },
    })
    const tookMs = Date.now() - begunMs
    if (flags.json) printJsonLine({ kind: 'report', ...report, durationMs: tookMs })
    else print(...summary(report, tookMs))
    const wasRead = hadWarehouse && report.movedTo === null
    log(...keptLines(report), ...expiredLines(report, wasRead), ...damagedLines(report, wasRead))
  } catch (error) {
    throw stop.stopping.aborted ? stopped(error) : error
  } finally {
    stop.release()
  }
}
