// What `up` does to the schedules: each is made what the configuration says, and has a tick now, unless somebody has paused it.
import type { Config, WorkspaceConfig } from '../../config.ts'
import { formatDuration } from '../../core/time.ts'
import { connectClient, type TemporalPlace } from '../../run/temporal/connection.ts'
import { changeSchedule, ensureSchedule, scheduleState } from '../../run/temporal/schedules.ts'

const whenText = ({ schedule }: WorkspaceConfig): string => {
  if (schedule === null) return 'never'
  return 'cron' in schedule ? schedule.cron : `every ${formatDuration(schedule.everyMs)}`
}

/** A line a workspace, of what its schedule is now. @throws TEMPORAL_UNREACHABLE */
export async function ensureSchedules(config: Config, place: TemporalPlace): Promise<string[]> {
  const client = await connectClient(place)
  try {
    const lines: string[] = []
    for (const workspace of config.workspaces) {
      const ensured = await ensureSchedule(client, config, workspace)
      const { schedule } = await scheduleState(client, workspace.id)
      const paused = schedule?.paused === true
      if (!paused) await changeSchedule(client, workspace.id, 'trigger')
      const now = paused ? 'paused: `convohouse schedule resume`' : 'and now'
      lines.push(`${workspace.id}  ${whenText(workspace)}, ${now} (schedule ${ensured})`)
    }
    return lines
  } finally {
    await client.connection.close()
  }
}
