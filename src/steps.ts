// Implements the Steps port of `workflows/` with landing, vendor client and warehouse.
import type { FailedCheck, Failure, Finished, LoadOutcome, Prepared, Steps, SyncRequest } from '../workflows/steps.ts'
import { AGENTS } from './catalog/resources/agents.ts'
import { isById } from './catalog/resources/resource.ts'
import { RESOURCES, type Stream } from './catalog/resources/resources.ts'
import { isUpToDate, MAX_GAPS_REPORTED } from './core/planning/gaps.ts'
import { NO_RESPONSE_RULES } from './core/response-rules.ts'
import { endOf } from './core/run-record.ts'
import { readGaps, unfinishedWindows, unusableConversations } from './reports/gaps.ts'
import { checkAfterLoads } from './steps/checks.ts'
import type { StepsDependencies } from './steps/dependencies.ts'
import { newCircuitBreaker } from './steps/dependencies.ts'
import { failureOf, fetchPages, probe } from './steps/export/fetch.ts'
import { countDue, fetchResources } from './steps/listing/resources.ts'
import { openPending, type Pending, readUnloaded } from './steps/pending.ts'
import { type ResourceFetching, warehouseFacts } from './steps/planning/facts.ts'
import { prepare } from './steps/planning/prepare.ts'
import type { RunLog } from './steps/run-log.ts'
import { openServerClock } from './steps/server-clock.ts'
import { upkeep } from './steps/upkeep.ts'
import { trimChanges } from './warehouse/changes/consumers.ts'
import { loadPages } from './warehouse/load/load.ts'
import type { LoadContext } from './warehouse/load/load-input.ts'
import { applyTimeZone } from './warehouse/load/time-zone.ts'
import { refreshMarts } from './warehouse/marts/refresh.ts'
import { applyResponseRules } from './warehouse/marts/response-rules.ts'
import { refreshModels } from './warehouse/models/refresh-models.ts'
import { wrongModels } from './warehouse/models/stored-models.ts'
import { temporaryFolder } from './warehouse/temporary-files.ts'

/**
 * Limits of one transaction. CPU time for 200 pages in transactions of 10 pages: 12.6 s; of 20: 9.5 s; of 50: 7.6 s; of
 * 100: 6.2 s; of 200: 5.5 s. Larger transactions take more memory.
 */
export const LOAD_BATCH = { count: 100, bytes: 80 * 1024 * 1024 }

/** While events arrive, loads are small: an event waits for the running load and should be visible within seconds. */
const SHORT_LOAD_BATCH = { count: 16, bytes: 12 * 1024 * 1024 }

export function loadContext(
  dependencies: Omit<StepsDependencies, 'vendor' | 'leaseLog' | 'signal'> & { home: string },
): LoadContext {
  return {
    writer: dependencies.warehouse.writer,
    workspaceId: dependencies.workspaceId,
    timeZone: dependencies.settings.timeZone,
    mirrorLagMs: dependencies.settings.mirrorLagMs,
    temporaryFolder: temporaryFolder(dependencies.home),
    readBody: address => dependencies.landing.body(address),
    pageFiles: addresses => dependencies.landing.files(addresses),
    verifyChecksums: pages => dependencies.landing.verifyChecksums(pages),
    now: dependencies.now,
  }
}

/** Lists the landed pages that are not loaded. */
export async function openPendingPages(
  dependencies: Pick<StepsDependencies, 'landing' | 'warehouse' | 'workspaceId' | 'now'>,
): Promise<Pending> {
  const { landing, warehouse, workspaceId, now } = dependencies
  return openPending(await readUnloaded({ landing, writer: warehouse.writer, workspaceId, nowMs: now() }))
}

/** The steps of one run, and a count for a plan that a person reads. */
export interface RunSteps extends Steps {
  /** Returns the minimum number of unmetered requests for other API resources at the end of the planned sync. */
  resourceRequests(request: SyncRequest, prepared: Prepared): Promise<number>
}

/** Returns the steps of a run, recorded by `log`. A process's runs share `pending`; loads are short while `eventsCome` is true. */
export function makeSteps(
  dependencies: StepsDependencies & {
    home: string
    run: string
    log: RunLog
    pending: Pending
    /** Folder of the user's checks; null for none. */
    checks: string | null
    /** Folder of the user's models; null for none. */
    models: string | null
    eventsCome?: () => boolean
    /** True if others load pages at the same time: these steps then only plan, and load no pages. */
    beside?: boolean
  },
): RunSteps {
  const {
    warehouse,
    workspaceId,
    pending,
    log,
    onFinishing = () => {},
    eventsCome = () => false,
    beside = false,
  } = dependencies
  const fetching: ResourceFetching = {
    ...dependencies,
    facts: warehouseFacts(warehouse, workspaceId),
    clock: openServerClock(),
    breaker: newCircuitBreaker(),
  }
  const context = loadContext(dependencies)

  /** Runs `work`; if it fails, marks `pending` as stale, since the step may have landed or loaded some pages. */
  async function spoilingOnFailure<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      pending.spoil()
      throw error
    }
  }

  /** Requests resources by the ids that are known now, and loads them. */
  async function fetchAndLoadResources(only?: readonly string[]): Promise<Failure | null> {
    const failure = await fetchResources(fetching, only)
    await loadStreams(RESOURCES.filter(isById).map(({ stream }) => stream))
    return failure
  }

  /** Refreshes marts and models. @returns the models that are new or could be built before, and cannot be built now */
  async function keepDerived(): Promise<string[]> {
    const { models: folder, now, signal } = dependencies
    const { writer } = warehouse
    onFinishing({ work: 'marts', left: null })
    await refreshMarts(writer)
    const before = new Map((await wrongModels(writer)).map(({ name, outcome }) => [name, outcome]))
    const onModel = (name: string): void => onFinishing({ work: 'models', left: null, name })
    const models = await refreshModels({ warehouse, folder, now, signal, onModel })
    return models
      .filter(({ name, outcome }) => outcome !== 'built' && outcome !== before.get(name))
      .map(({ name }) => name)
  }

  /** Refreshes marts, models and files. The sync does not depend on them, so a failure is only reported. */
  async function keepUp(): Promise<{ models: string[]; failure: Failure | null }> {
    const { landing, leaseLog, home, settings, now, signal } = dependencies
    const { writer } = warehouse
    const retention = settings.retention ?? { pagesMs: null, eventsMs: null }
    const derived = await keepDerived().then(
      models => ({ models, failure: null }),
      error => ({ models: [], failure: failureOf(error) }),
    )
    const failed = await upkeep({ landing, leaseLog, writer, home, workspaceId, retention, now, signal }).then(
      () => null,
      failureOf,
    )
    return { models: derived.models, failure: failed ?? derived.failure }
  }

  /** Runs the checks of the tables. Their failure is reported like that of upkeep. */
  async function runChecks(): Promise<{ failed: FailedCheck[]; failure: Failure | null }> {
    const { now, signal } = dependencies
    onFinishing({ work: 'checks', left: null })
    try {
      const failed = await checkAfterLoads({ warehouse, folder: dependencies.checks, now, signal })
      return { failed: failed.map(({ name, outcome }) => ({ name, outcome })), failure: null }
    } catch (error) {
      return { failed: [], failure: failureOf(error) }
    }
  }

  async function missingNow(): Promise<Pick<Finished, 'windowsUnfinished' | 'gaps' | 'unusable'>> {
    const gaps = await readGaps(warehouse.writer, workspaceId, dependencies.now())
    const windowsUnfinished = await unfinishedWindows(warehouse.writer, workspaceId)
    const unusable = await unusableConversations(warehouse.writer, workspaceId)
    return { windowsUnfinished, unusable, ...(gaps.length > 0 && { gaps: gaps.slice(0, MAX_GAPS_REPORTED) }) }
  }

  async function loadStreams(streams: readonly Stream[]): Promise<void> {
    const pages = pending.all().filter(({ head }) => streams.includes(head.place.stream))
    await loadPages(context, pages)
    pending.taken(pages)
  }

  async function loadNext(): Promise<LoadOutcome> {
    const pages = pending.next(eventsCome() ? SHORT_LOAD_BATCH : LOAD_BATCH)
    const loaded = await spoilingOnFailure(() => loadPages(context, pages))
    pending.taken(pages)
    return { pages: loaded.files, records: loaded.records, waiting: pending.all().length }
  }

  return {
    async prepare(request: SyncRequest) {
      const { timeZone, responseRules = NO_RESPONSE_RULES } = dependencies.settings
      await applyTimeZone(warehouse.writer, workspaceId, timeZone)
      await applyResponseRules(warehouse.writer, workspaceId, { ...responseRules, timeZone })
      // The refresh finds outdated conversations in the tables, so all landed pages are loaded first.
      while (!beside && request.refresh && pending.all().length > 0) await loadNext()
      const prepared = await spoilingOnFailure(() => prepare(fetching, request))
      const { windowsUnfinished: windowsLeft, unusable = 0, ...known } = await missingNow()
      const isComplete = isUpToDate({ outcome: 'done', windowsLeft, unusable, ...prepared }, known.gaps)
      return { ...prepared, ...known, plan: { ...prepared.plan, ...(!isComplete && { incomplete: true as const }) } }
    },
    resourceRequests: ({ resources }, { agents }) =>
      countDue(fetching, { agents: agents.map(({ agentId }) => agentId), only: resources }),
    async fetchPages({ progress, grant }) {
      await log.begin()
      return spoilingOnFailure(() => fetchPages(fetching, progress, grant))
    },
    async probe({ agentId, grant }) {
      await log.begin()
      return probe(fetching, agentId, grant)
    },
    async load() {
      await log.begin()
      return loadNext()
    },
    async finish({ request, report }) {
      await log.begin()
      let quarantined = 0
      let refused = 0
      let upkeepFailure: Failure | null = null
      let models: string[] = []
      let checks: FailedCheck[] = []
      let unnamed: Failure | null = null
      try {
        // Loads the refusals that report an agent as gone; the workflow's loader does not count them as pages to load.
        await spoilingOnFailure(() => loadStreams([AGENTS.stream]))
        if (report.outcome !== 'interrupted') {
          unnamed = await spoilingOnFailure(() => fetchAndLoadResources(request.resources))
          const kept = await keepUp()
          upkeepFailure = kept.failure
          models = kept.models
          const checked = await runChecks()
          checks = checked.failed
          upkeepFailure ??= checked.failure
        }
        await trimChanges(warehouse.writer)
      } finally {
        quarantined = await log.quarantined()
        const webhooks = await log.refused()
        refused = webhooks.since
        // Unanswered requests for resources do not fail a sync that made other requests; without other requests the sync has failed.
        const isUnanswered = report.requests === 0 && unnamed?.kind === 'transient'
        const unanswered = report.unanswered ?? (isUnanswered ? unnamed : null)
        await log.ended({
          ...endOf({ ...report, ...(unanswered && { unanswered }) }),
          quarantined,
          webhooksRefused: webhooks.inAll,
        })
      }
      const nowMs = dependencies.now()
      const { rereadHorizonMs, mirrorLagMs } = dependencies.settings
      const waiting = await fetching.facts.activeConversations(nowMs)
      const shifted = await fetching.facts.shiftedRanges({ sinceMs: nowMs - rereadHorizonMs, mirrorLagMs })
      return {
        quarantined,
        refused,
        active: waiting.reduce((sum, { conversations }) => sum + conversations, 0),
        ...(await missingNow()),
        ...(shifted.length > 0 && { unverified: shifted.slice(0, MAX_GAPS_REPORTED) }),
        ...(unnamed && { unnamed }),
        ...(upkeepFailure && { upkeep: upkeepFailure }),
        ...(checks.length > 0 && { checks }),
        ...(models.length > 0 && { models }),
      }
    },
  }
}
