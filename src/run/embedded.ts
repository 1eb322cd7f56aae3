// The embedded host: runs the orchestration in this process, without a server.
import { randomUUID } from 'node:crypto'
import type { Finishing, Host, ProgressUpdate } from '../../workflows/host.ts'
import { waitForHolders } from '../../workflows/lost-lease.ts'
import type { Prepared, Steps, SyncReport, SyncRequest } from '../../workflows/steps.ts'
import { syncWorkspace } from '../../workflows/sync.ts'
import { type App, openLog, openRun } from '../app.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Config, WorkspaceConfig } from '../config.ts'
import { ConvohouseError, isUnanswered } from '../core/errors.ts'
import { needsConsent } from '../core/planning/price.ts'
import { SECOND } from '../core/time.ts'
import type { StepsDependencies } from '../steps/dependencies.ts'
import type { RunLog } from '../steps/run-log.ts'

/** The request of `convohouse sync` without flags: everything not yet exported, within the included quota. */
export const PLAIN_SYNC: Omit<SyncRequest, 'run' | 'workspaceId'> = {
  agents: [],
  sinceMs: null,
  untilMs: null,
  mode: 'incremental',
  ids: [],
  refresh: null,
  maxRequests: null,
  maxSessions: null,
  allowedPacks: 0,
  wait: true,
}

export interface EmbeddedOptions {
  config: Config
  workspace: WorkspaceConfig
  app: App
  request: Omit<SyncRequest, 'run' | 'workspaceId'>
  /** Aborts requests in flight. */
  signal: AbortSignal
  /** Ends the run once the requests in flight have landed. */
  stopping?: AbortSignal
  clock?: Clock
  onProgress?: (news: ProgressUpdate) => void
  onPage?: NonNullable<StepsDependencies['onPage']>
  /** Time after planning, ms, at which the run leaves remaining history to a later sync. */
  givesWayAfterMs?: number
  /**
   * Called with the plan before the first billed request; false ends the run. `resourceRequests` counts the requests
   * for other API resources at the end of the sync.
   */
  confirm?: (prepared: Prepared, resourceRequests: () => Promise<number>) => Promise<boolean>
  /** Only for `planOnly`: other runs of this process may be working on the workspace. */
  beside?: boolean
}

/**
 * Passes `work` a signal that aborts with either of the two signals and when the work is over. `AbortSignal.any` would
 * leak 57 bytes per call (Node 20), since both signals live as long as the process.
 */
async function untilStopped<T>(
  { signal, stopping }: Pick<EmbeddedOptions, 'signal' | 'stopping'>,
  work: (stopped: AbortSignal) => Promise<T>,
): Promise<T> {
  const ends = stopping ? [signal, stopping] : [signal]
  const stopped = new AbortController()
  const stop = () => stopped.abort(ends.find(({ aborted }) => aborted)?.reason)
  for (const end of ends) end.addEventListener('abort', stop)
  if (ends.some(({ aborted }) => aborted)) stop()
  try {
    return await work(stopped.signal)
  } finally {
    for (const end of ends) end.removeEventListener('abort', stop)
    stopped.abort()
  }
}

function hostOf(options: EmbeddedOptions): Host {
  const { clock = systemClock } = options
  const { onProgress = () => {}, givesWayAfterMs = Number.POSITIVE_INFINITY } = options
  const isStopped = () => options.signal.aborted || options.stopping?.aborted === true
  let dueMs = Number.POSITIVE_INFINITY
  return {
    now: clock.now,
    newId: () => randomUUID().slice(0, 13),
    cancelled: isStopped,
    shouldYield: () => clock.now() >= dueMs,
    notify(news) {
      // Counted from the end of planning, so that slow planning leaves no less time for history.
      if (news.kind === 'planned') dueMs = clock.now() + givesWayAfterMs
      onProgress(news)
    },
    async sleepUntil(deadlineMs, wake) {
      // After dueMs the sleep is not shortened any more: dueMs is in the past, and the caller would spin.
      const untilMs = clock.now() < dueMs ? Math.min(deadlineMs, dueMs) : deadlineMs
      await untilStopped(options, stopped => {
        const slept = clock.sleepUntil(untilMs, stopped).catch(error => {
          if (isStopped()) throw error
        })
        return Promise.race([slept, wake])
      })
    },
  }
}

/**
 * Plans without exporting anything. Requests only the list of agents, which bills no session. `resourceRequests`:
 * minimum number of unmetered requests for other API resources at the end of the sync.
 */
export async function planOnly(options: EmbeddedOptions): Promise<Prepared & { resourceRequests: number }> {
  const run = await openRun(options)
  try {
    const request = { ...options.request, run: run.run, workspaceId: options.workspace.id }
    const prepared = await run.steps.prepare(request)
    return { ...prepared, resourceRequests: await run.steps.resourceRequests(request, prepared) }
  } finally {
    // A new listing of agents may have landed that the lists of other runs lack.
    if (options.beside) options.app.pending.get(options.workspace.id)?.spoil()
    await run.close()
  }
}

/** Interval at which a running sync updates the time in its run record, so that the time of a kill is known. */
const SEEN_EVERY_MS = 15 * SECOND

/** Runs `work` and records the run in the run log, even if it fails before it has a plan. */
async function logged<T>(options: EmbeddedOptions, work: (log: RunLog) => Promise<T>): Promise<T> {
  const { origin = 'sync' } = options.request
  const log = openLog({ ...options, origin })
  // Ignored here, because the run meets and reports the same disk error.
  await log.begin().catch(() => {})
  const seen = setInterval(() => void log.seen().catch(() => {}), SEEN_EVERY_MS)
  try {
    return await work(log)
  } catch (error) {
    await log.gaveUp(error).catch(() => {})
    throw error
  } finally {
    clearInterval(seen)
  }
}

const stoppedWaiting = () => new ConvohouseError('INTERRUPTED', { what: 'The sync was stopped before it was planned.' })

/** Runs one sync, once no export worker of an earlier run on Temporal can send requests. @returns null if `confirm` returned false */
export const syncOnce = (options: EmbeddedOptions): Promise<SyncReport | null> =>
  logged(options, async log => {
    const onFinishing = (finishing: Finishing) => options.onProgress?.({ kind: 'finishing', ...finishing })
    const run = await openRun({ ...options, log, onFinishing })
    const host = hostOf(options)
    const request = { ...options.request, run: run.run, workspaceId: options.workspace.id }
    try {
      await waitForHolders(host, run.heldUntil).catch(error => {
        throw host.cancelled() ? stoppedWaiting() : error
      })
      let declined = false
      const steps: Steps = {
        ...run.steps,
        prepare: async (asked: SyncRequest) => {
          const asks = options.confirm !== undefined
          const prepared = await run.steps.prepare(asks ? { ...asked, consented: false } : asked)
          declined = asks && !(await options.confirm!(prepared, () => run.steps.resourceRequests(asked, prepared)))
          if (declined) return { ...prepared, plan: { ...prepared.plan, windows: [] } }
          // The previous full export is dropped only once the user has agreed to the new one.
          const kept = asks && asked.dropFull && needsConsent(prepared.plan, prepared.governor.quota.includedSessions)
          return kept ? run.steps.prepare(asked) : prepared
        },
        finish: async input => {
          if (!declined) return run.steps.finish(input)
          await log.ended({ outcome: 'declined', success: false })
          return undefined
        },
      }
      const report = await syncWorkspace(steps, host, request)
      return declined ? null : report
    } finally {
      await run.close()
    }
  })

/** True for refusals that may pass: of the account or the token, or of a token whose file is being replaced. */
const isRefusal = ({ kind, code }: Pick<ConvohouseError, 'kind' | 'code'>): boolean =>
  kind === 'access' || code === 'TOKEN_MISSING'

/** Returns a predicate over the ends of a workspace's syncs: true if one was refused before the vendor accepted any request. */
export function refusedFromTheStart(): (ended: SyncReport | ConvohouseError) => boolean {
  let accepted = false
  return ended => {
    if (ended instanceof ConvohouseError) return !accepted && isRefusal(ended)
    accepted ||= ended.pages > 0 || ended.outcome === 'done'
    return !accepted && ended.failures.some(isRefusal)
  }
}

/**
 * Watch mode: syncs every `everyMs`, from start to start, until a signal. Calls `each` after every round with its report, or
 * with the error if the vendor did not answer or refused access. If a round is still reading history when the next one is
 * due, it leaves the rest to it, so that new conversations arrive on time. Watch mode ends by itself only if its first
 * round meets what waiting rarely resolves: configuration, a data folder that cannot be written, refused access.
 */
export async function watch(
  options: EmbeddedOptions & {
    everyMs: number
    each: (report: SyncReport | null, nextMs: number, error: unknown) => void
  },
): Promise<SyncReport | null> {
  const { clock = systemClock, signal, stopping } = options
  const isStopped = () => signal.aborted || stopping?.aborted === true
  const isRefused = refusedFromTheStart()
  let worked = false
  for (;;) {
    const begunMs = clock.now()
    let failure: unknown = null
    const report = await syncOnce({ ...options, givesWayAfterMs: options.everyMs }).catch(error => {
      const mayPass =
        error instanceof ConvohouseError &&
        ((isRefusal(error) && !isRefused(error)) || (worked && error.kind === 'storage'))
      if (!isUnanswered(error) && !mayPass) throw error
      failure = error
      return null
    })
    const isFull = report?.failures.some(({ kind }) => kind === 'storage') ?? false
    const isOver = report && (isRefused(report) || (isFull && !worked))
    worked ||= report !== null && !isFull
    if (isStopped() || isOver) return report
    const nextMs = Math.max(clock.now(), begunMs + options.everyMs)
    options.each(report, nextMs, failure)
    await untilStopped(options, stopped => clock.sleepUntil(nextMs, stopped)).catch(() => {})
    if (isStopped()) return report
  }
}
