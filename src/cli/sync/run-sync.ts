// `convohouse sync`: every chosen workspace in turn, once or again and again.

import type { House } from '../../app.ts'
import { systemClock } from '../../clock.ts'
import { type Config, readConfig, type WorkspaceConfig } from '../../config.ts'
import { ConvohouseError, EXIT_CODES, isCode } from '../../core/errors.ts'
import { type EmbeddedOptions, syncOnce, watch } from '../../run/embedded.ts'
import { ingestBeside } from '../../run/ingest.ts'
import { type EventCounts, watchEvents } from '../../run/watch-events.ts'
import { errorJson, errorLines, exitCodeOf } from '../failure/failure-text.ts'
import { type NamedConversation, namedBy } from '../flags/ids-file.ts'
import { checkTogether, type SyncFlags } from '../flags/sync-flags.ts'
import { syncRequest } from '../flags/sync-request.ts'
import { workspacesFor } from '../flags/workspaces.ts'
import { isInteractive } from '../terminal/prompt.ts'
import { STOPPING, type Stop, stopOnSignals } from '../terminal/stop.ts'
import { styleOf } from '../terminal/style.ts'
import { clockTime } from '../terminal/words.ts'
import { chooseDisplays, type Displays } from './choose-display.ts'
import { mayBegin } from './consent.ts'
import { lookUpIn } from './look-up.ts'
import { openHouseSoon } from './open-house.ts'
import { exitCodeOfReport } from './outcome.ts'
import { type Display, plannedBy } from './progress.ts'
import { watchInTurn } from './rounds.ts'

interface Syncing {
  flags: SyncFlags
  config: Config
  house: House
  stop: Stop
  named: readonly NamedConversation[] | null
  /** The display that shows now, told when a signal comes. */
  shown: { now: Display | null }
  displays: Displays
  /** Of the workspaces that have their turn, or will have it again: those that are told of events. */
  watched: Map<string, Display>
}

interface Run {
  options: EmbeddedOptions
  display: Display
}

const declined = () => new ConvohouseError('INTERRUPTED', { what: 'Not begun; nothing was bought.' })

/** One workspace's run, with its display. */
async function runOf(syncing: Syncing, workspace: WorkspaceConfig): Promise<Run> {
  const { flags, config, house, stop, named, shown, displays, watched } = syncing
  const lookUp = lookUpIn(house, workspace.id)
  const request = await syncRequest({ flags, workspace, named, lookUp, nowMs: systemClock.now() })
  const display = displays.of(workspace.id)
  watched.set(workspace.id, display)
  // A watch asks once: nobody sits there for its later rounds.
  let given = flags.yes === true || flags.maxSessions !== undefined
  const interactive = !flags.json && isInteractive()
  const confirm: EmbeddedOptions['confirm'] = async prepared => {
    const begins = await unwatched(watched, () =>
      mayBegin({ workspaceId: workspace.id, prepared, given, interactive, stopping: stop.stopping }),
    )
    if (!begins && flags.watch !== undefined) throw declined()
    given = begins && flags.watch !== undefined
    if (begins) display.planned(plannedBy(prepared))
    return begins
  }
  const tell: EmbeddedOptions['tell'] = news => {
    shown.now = display
    display.news(news)
  }
  const { aborted: signal, stopping } = stop
  const told = { tell, onPage: display.page, confirm }
  return { options: { config, workspace, house, request, signal, stopping, ...told }, display }
}

/** What is redrawn would be in the way of a question. */
async function unwatched<T>(watched: Syncing['watched'], asking: () => Promise<T>): Promise<T> {
  const away = [...watched]
  watched.clear()
  for (const [, display] of away) display.end()
  const answer = await asking()
  for (const [workspaceId, display] of away) watched.set(workspaceId, display)
  return answer
}

/** Takes away what is only for the moment; nothing comes again. */
function endWatched({ watched }: Syncing): void {
  const ended = [...watched.values()]
  watched.clear()
  for (const display of ended) display.end()
}

function tellError({ displays, flags }: Pick<Syncing, 'displays' | 'flags'>, error: unknown): void {
  if (flags.json === true) displays.remark(JSON.stringify(errorJson(error)))
  else displays.remark(...errorLines(error, styleOf(process.stderr)))
}

/** Runs one workspace once; its exit code. An error of one workspace does not keep the others from their turn. */
async function syncWorkspaceOnce(syncing: Syncing, workspace: WorkspaceConfig): Promise<number> {
  try {
    const { options, display } = await runOf(syncing, workspace)
    const report = await syncOnce(options)
    if (report) display.report(report)
    return report ? exitCodeOfReport(report) : EXIT_CODES.ok
  } catch (error) {
    endWatched(syncing)
    tellError(syncing, error)
    return exitCodeOf(error)
  } finally {
    endWatched(syncing)
    syncing.shown.now = null
  }
}

async function syncInTurn(syncing: Syncing, workspaces: readonly WorkspaceConfig[]): Promise<number> {
  let code: number = EXIT_CODES.ok
  for (const workspace of workspaces) {
    if (syncing.stop.stopping.aborted) return EXIT_CODES.interrupted
    const ended = await syncWorkspaceOnce(syncing, workspace)
    code ||= ended
  }
  return code
}

const nextRound = (nextMs: number): string => `next round at ${clockTime(nextMs, systemClock.now())}`

async function watchOne({ flags, stop }: Syncing, { options, display }: Run): Promise<number> {
  const report = await watch({
    ...options,
    everyMs: flags.watch!,
    each(report, nextMs) {
      if (report) display.report(report)
      else display.end()
      display.note(report ? nextRound(nextMs) : `the vendor cannot be reached; ${nextRound(nextMs)}`)
    },
  })
  // A round that the signal cut short has not been told; one before which it came has.
  if (report && (report.outcome === 'interrupted' || !stop.stopping.aborted)) display.report(report)
  if (stop.stopping.aborted) return EXIT_CODES.interrupted
  return report ? exitCodeOfReport(report) : EXIT_CODES.ok
}

async function watchSeveral(syncing: Syncing, runs: readonly Run[]): Promise<number> {
  const { flags, stop } = syncing
  let code: number = EXIT_CODES.ok
  const displayOf = new Map(runs.map(({ options, display }) => [options.workspace.id, display]))
  await watchInTurn({
    runs: runs.map(({ options }) => options),
    everyMs: flags.watch!,
    stopping: stop.stopping,
    told({ workspace }, report) {
      const display = displayOf.get(workspace.id)!
      if (report) display.report(report)
      else {
        display.end()
        display.note('the vendor cannot be reached')
      }
      code = report ? exitCodeOfReport(report) : code
    },
    failed({ workspace }, error) {
      displayOf.get(workspace.id)!.end()
      tellError(syncing, error)
      code = exitCodeOf(error)
    },
    each: nextMs => runs[0]!.display.note(nextRound(nextMs)),
  })
  return stop.stopping.aborted ? EXIT_CODES.interrupted : code
}

async function watchThem(syncing: Syncing, workspaces: readonly WorkspaceConfig[]): Promise<number> {
  const runs: Run[] = []
  for (const workspace of workspaces) runs.push(await runOf(syncing, workspace))
  try {
    const [only] = runs
    return await (runs.length === 1 && only ? watchOne(syncing, only) : watchSeveral(syncing, runs))
  } catch (error) {
    if (syncing.stop.stopping.aborted && isCode(error, 'INTERRUPTED')) return EXIT_CODES.interrupted
    throw error
  } finally {
    endWatched(syncing)
  }
}

/** Syncs as the flags say; the process's exit code. @throws what is wrong with flags, configuration or data folder */
export async function runSync(flags: SyncFlags): Promise<number> {
  checkTogether(flags, systemClock.now())
  const config = readConfig(flags.config === undefined ? {} : { path: flags.config })
  const workspaces = workspacesFor(config, flags)
  const named = await namedBy(flags)
  if (flags.on === 'temporal') {
    const { syncOnTemporal } = await import('./on-temporal.ts')
    return syncOnTemporal({ flags, config, workspaces, named })
  }
  const shown: Syncing['shown'] = { now: null }
  const displays = await chooseDisplays(flags.json === true)
  const stop = stopOnSignals(() => (shown.now ? shown.now.note(STOPPING) : displays.remark(STOPPING)))
  const house = await openHouseSoon(config)
  const watched: Syncing['watched'] = new Map()
  const ingesting = ingestBeside({ config, house, failed: error => tellError({ displays, flags }, error) })
  const watching = workspaces.map(workspace => {
    const told = (counts: EventCounts) => watched.get(workspace.id)?.news({ kind: 'events', ...counts })
    return watchEvents({ house, home: config.home, workspace, told })
  })
  try {
    const syncing = { flags, config, house, stop, named, shown, displays, watched }
    return await (flags.watch === undefined ? syncInTurn(syncing, workspaces) : watchThem(syncing, workspaces))
  } finally {
    for (const watch of watching) watch.end()
    await ingesting.end()
    await house.close()
    stop.release()
  }
}
