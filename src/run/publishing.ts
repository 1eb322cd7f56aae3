// Publishes to the configured targets while this process holds the warehouse, at most once per `publish.every` and only
// if something has changed. Nothing waits for a publication, and a failed one is retried.
import type { App } from '../app.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { TargetConfig } from '../config/targets.ts'
import type { Config } from '../config.ts'
import { ConvohouseError } from '../core/errors.ts'
import type { PublicationReport } from '../core/publication-report.ts'
import { MINUTE, SECOND } from '../core/time.ts'
import { publish } from '../publish/publish.ts'
import { consumers, removeConsumer } from '../warehouse/changes/consumers.ts'
import { CONSUMER_PREFIX, consumerOf, lastPublications } from '../warehouse/changes/publications.ts'
import { iso, type Writer } from '../warehouse/connection.ts'

/** Ends the logging of changes for targets that are no longer configured. */
export async function forgetUnconfigured(writer: Writer, targets: readonly TargetConfig[]): Promise<void> {
  const configured = new Set(targets.map(({ name }) => consumerOf(name)))
  for (const { name } of await consumers(writer))
    if (name.startsWith(CONSUMER_PREFIX) && !configured.has(name)) await removeConsumer(writer, name)
}

/** Returns the message that publications to a target fail, or work again (`error` null). */
export function publicationText(target: string, error: unknown): string {
  if (error === null) return `Publications to ${target} work again.`
  const { code, hint } = error instanceof ConvohouseError ? error : { code: null, hint: undefined }
  const failed = `A publication to ${target} failed${code === null ? '' : ` (${code})`}, and is tried again:`
  const { message } = error as Error
  // Some drivers' messages end without a full stop.
  return `${failed} ${message}${hint === undefined ? '' : `${message.endsWith('.') ? '' : '.'} ${hint}`}`
}

/** Called when publications to a target begin to fail, with every other error, and with null when they work again. */
export type PublicationNews = (target: string, error: unknown) => void

/** Reports each error of a target once. */
export function newsOf(failing: PublicationNews): { succeeded(target: string): void; failed: PublicationNews } {
  const failures = new Map<string, string>()
  return {
    succeeded(target) {
      if (failures.delete(target)) failing(target, null)
    },
    failed(target, error) {
      if (failures.get(target) === String(error)) return
      failures.set(target, String(error))
      failing(target, error)
    },
  }
}

/** Starts the publication to a due target, or performs it. Its error is reported, and the target is due again after `publish.every`. */
type PublishTo = (target: TargetConfig, signal: AbortSignal) => Promise<void>

interface PublishingOptions {
  config: Config
  app: App
  failing: PublicationNews
  publishTo: PublishTo
  clock?: Clock
}

export interface RunningPublishing {
  /** Stops the running publication, if any; its target stays as it was before. */
  end(): Promise<void>
}

/** Publishes in this process. */
export const publishHere =
  ({
    config,
    app,
    clock = systemClock,
    published = () => {},
    entry,
  }: Pick<PublishingOptions, 'config' | 'app' | 'clock'> & {
    published?: (report: PublicationReport) => void
    /** The program of the target's process. */
    entry?: URL
  }): PublishTo =>
  async (target, signal) => {
    const { warehouse } = app
    const { threads, extensions, models, workspaces } = config
    const settings = { ...config.publish, threads, extensions, models, workspaces }
    const options = { warehouse, home: config.home, target, settings, signal, now: clock.now }
    published(await publish({ ...options, ...(entry && { entry }) }))
  }

/** Interval between checks for due publications. */
const LOOK_EVERY_MS = 5 * SECOND

/** This process's record of its last publication to a target. */
interface Tried {
  atMs: number
  hasSucceeded: boolean
}

/** A first sync of a small workspace ends within this time, and would be slowed down by a copy that is old when it ends. */
const FIRST_WAITS_MS = MINUTE

/** Finds out whether a first copy would be empty, or would compete with a first sync that has just begun. */
const EARLY = `SELECT 1 WHERE NOT EXISTS (FROM conversations)
  OR (NOT EXISTS (FROM _runs WHERE success) AND EXISTS (FROM _runs WHERE ended_at IS NULL AND started_at > $since::TIMESTAMPTZ))`

/** Returns the targets that are due: changed or not yet tried by this process, and not published within `publish.every`. */
async function dueTargets(
  writer: Writer,
  { config, tried, nowMs }: { config: Config; tried: ReadonlyMap<string, Tried>; nowMs: number },
): Promise<TargetConfig[]> {
  const [published, known] = [await lastPublications(writer), await consumers(writer)]
  const isEarly = (await writer.rows(EARLY, { since: iso(nowMs - FIRST_WAITS_MS) })).length > 0
  return config.targets.filter(({ name }) => {
    if (isEarly && !published.has(name)) return false
    const consumer = known.find(one => one.name === consumerOf(name))
    const last = tried.get(name)
    const lastMs = Math.max(published.get(name) ?? 0, last?.atMs ?? 0)
    // The time is in the future, since the clock has been set back.
    const isWaiting = lastMs <= nowMs && nowMs - lastMs < config.publish.everyMs
    // The log shows neither a changed policy nor a removed target, so each process publishes once to each target.
    if (!last?.hasSucceeded) return !isWaiting
    // A consumer at 0 must fill its copy: it is new, or an epoch has begun.
    return !isWaiting && (consumer === undefined || consumer.seq === 0 || consumer.behind > 0)
  })
}

/** Starts publishing. Without targets, it only ends the logging of changes for earlier ones. */
export function startPublishing(options: PublishingOptions): RunningPublishing {
  const { config, app, publishTo, clock = systemClock } = options
  const ending = new AbortController()
  const { signal } = ending
  const { writer } = app.warehouse
  const news = newsOf(options.failing)
  /** The last attempts of this process. A publication that finds nothing to publish is not recorded. */
  const tried = new Map<string, Tried>()

  async function attempt(target: TargetConfig): Promise<void> {
    const last: Tried = { atMs: clock.now(), hasSucceeded: false }
    tried.set(target.name, last)
    try {
      await publishTo(target, signal)
      last.hasSucceeded = true
      news.succeeded(target.name)
    } catch (error) {
      if (!signal.aborted) news.failed(target.name, error)
    }
  }

  async function run(): Promise<void> {
    await forgetUnconfigured(writer, config.targets).catch(() => {})
    while (config.targets.length > 0 && !signal.aborted) {
      const nowMs = clock.now()
      // The loads meet the same error of the warehouse, and report it.
      const due = await dueTargets(writer, { config, tried, nowMs }).catch(() => [])
      for (const target of due) if (!signal.aborted) await attempt(target)
      await clock.sleepUntil(nowMs + LOOK_EVERY_MS, signal).catch(() => {})
    }
  }

  const running = run()
  return {
    async end() {
      ending.abort()
      await running
    },
  }
}
