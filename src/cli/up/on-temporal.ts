// `up` with Temporal: opens the warehouse, the server, the schedules and the worker in this order, and closes them in reverse.

import { join } from 'node:path'
import { withReleasers } from '../../app.ts'
import type { ListenAddress } from '../../config/address.ts'
import type { Config } from '../../config.ts'
import { ConvohouseError, EXIT_CODES } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import { restrictUmask } from '../../files/durable.ts'
import type { Supervisor } from '../../run/supervision/supervisor.ts'
import { connectClient, settingsAt, type TemporalPlace } from '../../run/temporal/client/connection.ts'
import { changeSchedule, ensureSchedule, scheduleState } from '../../run/temporal/client/schedules.ts'
import { lastEndedExecution } from '../../run/temporal/client/watch-workspace.ts'
import { startDevServer } from '../../run/temporal/server/dev-server.ts'
import type { MetricsPage } from '../../telemetry/page.ts'
import { whenText } from '../schedule.ts'
import { boardOnTerminal } from '../terminal/board.ts'
import { log, logLines, print } from '../terminal/print.ts'
import { STOPPING, type Stop, stopOnSignals } from '../terminal/signals.ts'
import { runTeam, sdkMetrics, superviseWarehouse } from '../worker.ts'
import { type FollowOptions, followSyncs } from './follow.ts'

export interface UpFlags {
  config?: string
  /** Interval in ms, for workspaces without a schedule. */
  every: number
  port?: number
  uiPort?: number
  telemetry?: ListenAddress
}

interface Up {
  config: Config
  flags: UpFlags
  /** The Temporal CLI; null if a server is configured. */
  command: string | null
  metrics: MetricsPage
  metricsUrl: string
}

/** The address that Temporal clients use by default. */
const DEFAULT_ADDRESS = /^(localhost|127\.0\.0\.1):7233$/

function addressLines({ place, own }: ServerOfUp, metricsUrl: string): string[] {
  const { address, namespace } = place
  const hint = `\`export TEMPORAL_ADDRESS=${address}\` in other terminals`
  return [
    `Temporal  ${address}, namespace ${namespace}${own ? `, kept in ${own.file}` : ''}`,
    ...(own && !DEFAULT_ADDRESS.test(address) ? [`          ${hint}`] : []),
    ...(own?.uiUrl ? [`UI        ${own.uiUrl}`] : []),
    `metrics   ${metricsUrl}`,
  ]
}

const serverEnded = ({ place }: ServerOfUp): ConvohouseError =>
  new ConvohouseError('TEMPORAL_UNREACHABLE', {
    what: `The Temporal server at ${place.address}, which this command started, has ended.`,
    hint: 'Run `convohouse up` again: it continues where it stopped.',
  })

type Screen = Pick<FollowOptions, 'board' | 'remark'>

/** Returns the board that shows syncs, and the function that logs all other lines. */
async function screenOfUp(): Promise<Screen> {
  const board = await boardOnTerminal()
  return { board, remark: board ? (...lines) => board.printAbove(logLines(lines)) : log }
}

/** Works until it is stopped, the server ends, or the vendor refuses access from the start; returns the exit code. */
async function work(
  options: Up &
    Pick<FollowOptions, 'over'> & { supervisor: Supervisor; server: ServerOfUp; stop: Stop; screen: Screen },
): Promise<number> {
  const { config, server, supervisor, over, stop, screen } = options
  const { place } = server
  const lost = new AbortController()
  server.own?.ended.then(() => lost.abort(serverEnded(server)))
  const stopping = AbortSignal.any([stop.stopping, lost.signal])
  const ended = new AbortController()
  let following = Promise.resolve()
  let code: number = EXIT_CODES.ok
  try {
    code = await runTeam({
      config,
      role: 'all',
      place,
      // If the server is lost, requests in flight still land, since they are billed anyway.
      ending: { stopping, aborted: stop.aborted },
      supervisor,
      ready() {
        screen.remark('Up. Press Ctrl-C to stop.')
        following = followSyncs({
          config,
          supervisor,
          place,
          over,
          refused: error => lost.abort(error),
          signal: AbortSignal.any([stopping, ended.signal]),
          ...screen,
        })
      },
    })
  } finally {
    ended.abort()
    await following
  }
  if (lost.signal.aborted && !stop.stopping.aborted) throw lost.signal.reason
  return code
}

/** Stops the child and waits for it to end. */
async function endOf(supervisor: Supervisor): Promise<void> {
  supervisor.stop()
  await supervisor.ended
}

/** Resolves with true once the child holds the warehouse; with false if it cannot hold it, or was stopped before. */
async function heldUnlessStopped(supervisor: Supervisor, { stopping }: Stop): Promise<boolean> {
  stopping.addEventListener('abort', supervisor.stop, { once: true })
  const held = await supervisor.held
  stopping.removeEventListener('abort', supervisor.stop)
  return held && !stopping.aborted
}

/** Runs until it is stopped; returns the exit code. @throws WAREHOUSE_LOCKED, TEMPORAL_UNREACHABLE */
export async function upOnTemporal(up: Up): Promise<number> {
  const { config, flags, metrics, metricsUrl } = up
  const screen = await screenOfUp()
  const stop = stopOnSignals(() => screen.remark(STOPPING))
  const opened = await withReleasers(async acquire => {
    acquire(stop, ({ release }) => release())
    // The warehouse comes first: its lock also protects the server's database file.
    restrictUmask()
    const supervisor = acquire(superviseWarehouse({ config: flags.config, remark: screen.remark }), endOf)
    if (!(await heldUnlessStopped(supervisor, stop))) return { supervisor, server: null }
    const server = acquire(await serverOfUp(up), started => started.stop())
    return { supervisor, server }
  })
  try {
    const { supervisor, server } = opened
    // The child has already logged the reason.
    if (server === null) return stop.stopping.aborted ? EXIT_CODES.ok : await supervisor.ended
    const { lines, over } = await ensureSchedules(config, server.place, flags.every)
    // Nothing may fail between this line and the worker: an installed runtime that is never used would keep the process alive.
    metrics.append(await sdkMetrics({ supervisor, exports: true, log: screen.remark }))
    print(...addressLines(server, metricsUrl), ...lines)
    return await work({ ...up, server, supervisor, over, stop, screen })
  } finally {
    await opened.close()
  }
}

interface ServerOfUp {
  place: TemporalPlace
  /** Our own server; null if one is configured. */
  own: { file: string; uiUrl: string | null; ended: Promise<void> } | null
  stop(): Promise<void>
}

/** Returns the configured server, or a dev server in the data folder, started with the Temporal CLI `command`. @throws TEMPORAL_UNREACHABLE */
async function serverOfUp(options: { config: Config; flags: UpFlags; command: string | null }): Promise<ServerOfUp> {
  const { config, flags, command } = options
  const { place } = settingsAt({})
  if (command === null) return { place, own: null, stop: async () => {} }
  const file = join(config.home, 'temporal.db')
  const { address, uiUrl, ended, stop } = await startDevServer({
    command,
    file,
    usual: true,
    namespaces: place.namespace === 'default' ? [] : [place.namespace],
    uiPort: flags.uiPort ?? 0,
    ...(flags.port !== undefined && { port: flags.port }),
  })
  return { place: { ...place, address }, own: { file, uiUrl, ended }, stop }
}

/** Jitter of the schedules that `up` creates; the same as the default of a configured schedule. */
const JITTER_MS = 30 * SECOND

interface EnsuredSchedules {
  /** One line per workspace about its schedule. */
  lines: string[]
  /** For each workspace, the owner workflow that had ended before the schedule was triggered. */
  over: Map<string, string | null>
}

/** Creates or updates each schedule and triggers it unless it is paused. `everyMs` is for workspaces without a schedule. @throws TEMPORAL_UNREACHABLE */
async function ensureSchedules(config: Config, place: TemporalPlace, everyMs: number): Promise<EnsuredSchedules> {
  const otherwise = { everyMs, jitterMs: Math.min(JITTER_MS, everyMs / 10) }
  const client = await connectClient(place)
  try {
    const lines: string[] = []
    const over: EnsuredSchedules['over'] = new Map()
    for (const workspace of config.workspaces) {
      const ensured = await ensureSchedule(client, { config, workspace, otherwise })
      const { schedule } = await scheduleState(client, workspace.id)
      const paused = schedule?.paused === true
      over.set(workspace.id, await lastEndedExecution(client, workspace.id))
      if (!paused) await changeSchedule(client, workspace.id, 'trigger')
      const when = workspace.schedule ?? otherwise
      const syncs = `syncs ${'cron' in when ? 'at ' : ''}${whenText(when)}`
      const now = paused ? 'but is paused; `convohouse schedule resume` resumes it' : 'starting now'
      lines.push(`${workspace.id}  ${syncs}, ${now} (schedule ${ensured})`)
    }
    return { lines, over }
  } finally {
    await client.connection.close()
  }
}
