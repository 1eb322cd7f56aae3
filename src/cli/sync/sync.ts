// `convohouse sync`: syncs the chosen workspaces concurrently, once or in rounds (--watch). Each workspace has its own
// rate limit; the shared warehouse serialises their loads.

import type { DrainFailing } from '../../../workflows/ingest.ts'
import type { Prepared, SyncReport } from '../../../workflows/steps.ts'
import { spoolOf } from '../../app/spool.ts'
import { type App, withReleasers } from '../../app.ts'
import { systemClock } from '../../clock.ts'
import type { Config, WorkspaceConfig } from '../../config.ts'
import { ConvohouseError, type ErrorCode, EXIT_CODES, isCode } from '../../core/errors.ts'
import { confirmationNeeded, historyPrice, isBilledAgain, needsConsent } from '../../core/planning/price.ts'
import { clockTime } from '../../core/words.ts'
import { type EmbeddedOptions, syncOnce, watch } from '../../run/embedded.ts'
import { startIngest } from '../../run/ingest.ts'
import { publicationText, publishHere, startPublishing } from '../../run/publishing.ts'
import { connectToSupervisor } from '../../run/supervision/child.ts'
import { type EventCounts, type EventWatch, watchEvents } from '../../run/watch-events.ts'
import { refreshMarts } from '../../warehouse/marts/refresh.ts'
import { configAt, workspacesFor } from '../flags/configuration.ts'
import { idsToRequest, type NamedConversation, notFound } from '../flags/ids-file.ts'
import { checkTogether, type SyncFlags } from '../flags/sync-flags.ts'
import { lookUpIn, syncRequest } from '../flags/sync-request.ts'
import { openAppWhenReleased } from '../open-app.ts'
import { planSummary } from '../plan.ts'
import { confirm, isInteractive } from '../terminal/confirm.ts'
import { exitCodeOf } from '../terminal/error-text.ts'
import { log, stampLines } from '../terminal/print.ts'
import { endOnParentRequest, STOPPING, type Stop, stopOnSignals } from '../terminal/signals.ts'
import { chooseDisplays, type Displays } from './displays.ts'
import { type Display, plannedBy } from './progress.ts'
import { exitCodeOfAll, exitCodeOfReport } from './report.ts'

interface Syncing {
  flags: SyncFlags
  config: Config
  app: App
  stop: Stop
  named: readonly NamedConversation[] | null
  displays: Displays
  /** Displays of workspaces that are syncing or will sync again; they show webhook counts. */
  watched: Map<string, Display>
  /** Watches on each workspace's webhook events. */
  events: ReadonlyMap<string, EventWatch>
}

interface Run {
  options: EmbeddedOptions
  display: Display
}

const declined = () => new ConvohouseError('INTERRUPTED', { what: 'Not started; no session was billed.' })

/** Prepares one workspace's run and its display. */
async function runOf(syncing: Syncing, workspace: WorkspaceConfig): Promise<Run> {
  const { flags, config, app, stop, named, displays, watched } = syncing
  const lookUp = lookUpIn(app, workspace.id)
  const request = await syncRequest({ flags, workspace, named, lookUp, nowMs: systemClock.now() })
  const display = displays.of(workspace.id)
  watched.set(workspace.id, display)
  // In watch mode only the first round asks for consent.
  let given = flags.yes === true || flags.maxSessions !== undefined
  const json = flags.json === true
  const interactive = !json && isInteractive()
  const consent: EmbeddedOptions['confirm'] = async (prepared, resourceRequests) => {
    const asking = { workspaceId: workspace.id, prepared, resourceRequests, given, interactive, json }
    const begins = await displays.ask(() => askConsent({ ...asking, stopping: stop.stopping }))
    if (!begins && flags.watch !== undefined) throw declined()
    given = begins && flags.watch !== undefined
    if (begins) display.planned(plannedBy(prepared))
    return begins
  }
  const { aborted: signal, stopping } = stop
  const callbacks = { onProgress: display.news, onPage: display.page, confirm: consent }
  return { options: { config, workspace, app, request, signal, stopping, ...callbacks }, display }
}

interface Consent {
  workspaceId: string
  prepared: Prepared
  /** Counts the requests for other API resources. */
  resourceRequests: () => Promise<number>
  /** True if consent was given by a flag: `--yes` or a session limit. */
  given: boolean
  interactive: boolean
  /** True if the output is for machines. */
  json: boolean
  stopping: AbortSignal
}

/** True if the plan may be executed. Prints the price of history even if it does not ask. @throws CONFIRMATION_NEEDED, INTERRUPTED */
async function askConsent(consent: Consent): Promise<boolean> {
  const { workspaceId, prepared, given, interactive, json, stopping } = consent
  const { plan, governor } = prepared
  const must = needsConsent(plan, governor.quota.includedSessions)
  const unpriced = plan.firstBackfills > 0 && plan.unknown > 0
  if (must && !given && !interactive) throw confirmationNeeded(workspaceId, plan)
  if (given || !interactive || !(must || unpriced)) {
    const price = json ? null : historyPrice(prepared, Date.now())
    if (price) log(`${workspaceId}: ${price}`)
    return true
  }
  const facts = { workspaceId, prepared, resourceRequests: await consent.resourceRequests(), nowMs: Date.now() }
  log(`Sync of workspace ${workspaceId}:`, ...planSummary(facts))
  const size = must ? 'It may use most of the quota.' : 'Its size is unknown; it stops before overage.'
  const why = isBilledAgain(plan) ? 'It exports and bills stored conversations again.' : size
  const stopped = 'Stopped before the sync started; no session was billed.'
  const yes = await confirm(`${why} Start?`, { signal: stopping, stopped })
  if (!yes) log('No session was billed.')
  return yes
}

/** Ends the workspace's display, which then receives no more webhook counts. */
function endWatched({ watched }: Syncing, { id }: WorkspaceConfig): void {
  watched.get(id)?.end()
  watched.delete(id)
}

/** Finished windows of a list are not remembered; those of a full export are. */
const EXPORTED_AGAIN =
  'the same command exports and bills conversations of finished windows again: leave those that have arrived out of the list'

/** Adds a warning about a list of ids: which did not arrive or, if the sync stopped, what the same command costs. */
async function withListWarning(
  { flags, app, named }: Syncing,
  { workspace }: EmbeddedOptions,
  report: SyncReport,
): Promise<SyncReport> {
  if (named === null) return report
  const warning =
    report.outcome === 'done'
      ? await notFound({ named, agents: flags.agent ?? [], lookUp: lookUpIn(app, workspace.id) })
      : EXPORTED_AGAIN
  return warning === null ? report : { ...report, warnings: [...(report.warnings ?? []), warning] }
}

/** Syncs one workspace once; returns its exit code. */
async function syncOne(syncing: Syncing, { options, display }: Run): Promise<number> {
  const report = await syncOnce(options)
  await syncing.events.get(options.workspace.id)?.settle(syncing.stop.stopping)
  if (report) display.report(await withListWarning(syncing, options, report))
  return report ? exitCodeOfReport(report) : EXIT_CODES.ok
}

const nextRound = (nextMs: number): string => `next round at ${clockTime(nextMs, systemClock.now())}`

/** Syncs one workspace in rounds; returns the exit code of the last round. */
async function watchOne({ flags, stop, displays }: Syncing, { options, display }: Run): Promise<number> {
  const report = await watch({
    ...options,
    everyMs: flags.watch!,
    each(report, nextMs, error) {
      if (report) display.report(report)
      else {
        display.end()
        displays.failed(options.workspace.id, error)
      }
      display.note(nextRound(nextMs))
    },
  })
  // An interrupted round has not been reported yet; one that ended before the signal has.
  if (report && (report.outcome === 'interrupted' || !stop.stopping.aborted)) display.report(report)
  if (stop.stopping.aborted) return EXIT_CODES.interrupted
  return report ? exitCodeOfReport(report) : EXIT_CODES.ok
}

/** Syncs one workspace; returns its exit code. Its errors do not end the other workspaces' syncs. */
async function syncWorkspace(syncing: Syncing, workspace: WorkspaceConfig): Promise<number> {
  const { flags, stop, displays } = syncing
  try {
    const run = await runOf(syncing, workspace)
    return await (flags.watch === undefined ? syncOne(syncing, run) : watchOne(syncing, run))
  } catch (error) {
    endWatched(syncing, workspace)
    const stopped = flags.watch !== undefined && stop.stopping.aborted && isCode(error, 'INTERRUPTED')
    if (!stopped) displays.failed(workspace.id, error)
    return exitCodeOf(error)
  } finally {
    endWatched(syncing, workspace)
  }
}

/** Syncs all concurrently; returns 130 if any was stopped, else the first exit code that is not 0, in the order of the configuration. */
async function syncAll(syncing: Syncing, workspaces: readonly WorkspaceConfig[]): Promise<number> {
  if (syncing.stop.stopping.aborted) return EXIT_CODES.interrupted
  return exitCodeOfAll(await Promise.all(workspaces.map(workspace => syncWorkspace(syncing, workspace))))
}

/**
 * Runs `convohouse sync`; returns the exit code.
 * @throws FLAG_INVALID, CONFIG_INVALID, CONFIG_MISSING, WORKSPACE_UNKNOWN, HOME_UNUSABLE, WAREHOUSE_LOCKED
 */
export async function runSync(flags: SyncFlags): Promise<number> {
  checkTogether(flags, systemClock.now())
  const config = configAt(flags.config)
  const workspaces = workspacesFor(config, flags)
  const named = await idsToRequest(flags, { home: config.home, workspaceId: workspaces[0]!.id })
  if (named?.length === 0) return EXIT_CODES.ok
  if (flags.on === 'temporal') {
    const { syncOnTemporal } = await import('./on-temporal.ts')
    return syncOnTemporal({ flags, config, workspaces, named })
  }
  if (flags.supervised && !flags.json) stampLines()
  const displays = await chooseDisplays({ json: flags.json === true, several: workspaces.length > 1 })
  const watched: Syncing['watched'] = new Map()
  const parent = flags.supervised ? connectToSupervisor(endOnParentRequest().stop) : null
  const stop = stopOnSignals(() => {
    const [only, ...others] = watched.values()
    if (only && others.length === 0) only.note(STOPPING)
    else displays.remark(STOPPING)
  })
  const opened = await withReleasers(async acquire => {
    acquire(stop, ({ release }) => release())
    return { app: acquire(await openAppWhenReleased(config, parent?.query), it => it.close()) }
  })
  const { app } = opened
  parent?.holds(app, config.home)
  const ingesting = startIngest({
    config,
    app,
    failing: (workspaceId, failure) => reportDrainFailure(displays, workspaceId, failure),
  })
  // A single sync ends without waiting for a publication.
  const publishing =
    flags.watch === undefined
      ? null
      : startPublishing({
          ...{ config, app },
          publishTo: publishHere({ config, app }),
          failing: (...news) => displays.remark(publicationText(...news)),
        })
  const events = new Map(
    workspaces.map(workspace => {
      const onCounts = (counts: EventCounts) => watched.get(workspace.id)?.news({ kind: 'events', ...counts })
      const spool = spoolOf({ app, home: config.home, workspace, now: systemClock.now })
      const drained = { counts: spool.counts, drain: () => spool.drain({ workspaceId: workspace.id }) }
      return [workspace.id, watchEvents({ drained, home: config.home, workspace, onCounts })]
    }),
  )
  try {
    const exitCode = await syncAll({ flags, config, app, stop, named, displays, watched, events }, workspaces)
    await ingesting.end()
    // Events that were applied since the sync's own refresh.
    if (!stop.stopping.aborted) await refreshMarts(app.warehouse.writer)
    return exitCode
  } finally {
    for (const watch of events.values()) watch.end()
    await publishing?.end()
    await ingesting.end()
    await opened.close()
  }
}

function failureOf(workspaceId: string, { code, what, hint }: NonNullable<DrainFailing>): Error {
  const message = `Webhook events of ${workspaceId} wait in the spool and are retried until they can be applied. ${what}`
  if (code === 'UNEXPECTED') return new Error(message)
  return new ConvohouseError(code as ErrorCode, { what: message, ...(hint && { hint }) })
}

/** Reports that a workspace's events cannot be applied, or that applying them works again. */
function reportDrainFailure(
  { failed, remark }: Pick<Displays, 'failed' | 'remark'>,
  workspaceId: string,
  failure: DrainFailing,
): void {
  if (failure) failed(workspaceId, failureOf(workspaceId, failure))
  else remark(`${workspaceId}: applying webhook events works again.`)
}
