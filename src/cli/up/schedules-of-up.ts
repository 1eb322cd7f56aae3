// What `up` does to the schedules: each is made what the configuration says, and has a tick now, unless somebody has paused it.
import type { Config } from '../../config.ts'
import { SECOND } from '../../core/time.ts'
import { connectClient, type TemporalPlace } from '../../run/temporal/client/connection.ts'
import { changeSchedule, ensureSchedule, scheduleState } from '../../run/temporal/client/schedules.ts'
import { lastEndedExecution } from '../../run/temporal/client/watch-workspace.ts'
import { whenText } from '../schedule/schedule-text.ts'

/** The configuration's own default. */
const JITTER_MS = 30 * SECOND

export interface EnsuredSchedules {
  /** One a workspace, of what its schedule is now. */
  lines: string[]
  /** By workspace: the owner that had ended before it had its tick. */
  over: Map<string, string | null>
}

/** `everyMs`: where the configuration names no schedule. @throws TEMPORAL_UNREACHABLE */
export async function ensureSchedules(
  config: Config,
  place: TemporalPlace,
  everyMs: number,
): Promise<EnsuredSchedules> {
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
      const now = paused ? 'paused: `convohouse schedule resume`' : 'and now'
      lines.push(`${workspace.id}  ${whenText(workspace.schedule ?? otherwise)}, ${now} (schedule ${ensured})`)
    }
    return { lines, over }
  } finally {
    await client.connection.close()
  }
}
