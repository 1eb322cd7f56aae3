import { Command } from 'commander'
import type { Change } from '../../run/temporal/client/schedules.ts'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { moment, whole } from '../flags/values.ts'
import type { BackfillFlags, ScheduleFlags } from './schedule.ts'

const addFlags = (command: Command): Command =>
  addWorkspaceFlag(addConfigFlag(command)).option('--json', 'one JSON object per workspace, for machines')

const ABOUT: Record<Change, string> = {
  pause: 'start no more syncs until the schedule is resumed; a running sync continues',
  resume: 'resume a paused schedule',
  trigger: 'start a sync now',
  delete: 'delete the schedule; `ensure` creates it again',
}

const ensureCommand = (): Command =>
  addFlags(new Command('ensure').description('create, update or delete schedules to match the configuration')).action(
    async (flags: ScheduleFlags) => {
      const { runEnsure } = await import('./schedule.ts')
      await runEnsure(flags)
    },
  )

const listCommand = (): Command =>
  addFlags(new Command('list').description('list schedules, their next run, and the outcome of the last run')).action(
    async (flags: ScheduleFlags) => {
      const { runList } = await import('./schedule.ts')
      await runList(flags)
    },
  )

const changeCommand = (change: Change): Command =>
  addFlags(new Command(change).description(ABOUT[change])).action(async (flags: ScheduleFlags) => {
    const { runChange } = await import('./schedule.ts')
    await runChange(change, flags)
  })

const backfillCommand = (): Command =>
  addFlags(new Command('backfill').description('export what is missing in a time range; Ctrl-C only detaches'))
    .option('--since <moment>', 'start of the range: a date, a time, or an age such as 90d', moment('--since'))
    .option('--until <moment>', 'end of the range (default: now)', moment('--until'))
    .option('--max-sessions <n>', 'bill at most this many sessions', whole('--max-sessions', 1))
    .option('-y, --yes', 'start without asking for confirmation, even if it may use most of the quota')
    .action(async (flags: BackfillFlags) => {
      const { runBackfill } = await import('./schedule.ts')
      process.exitCode = await runBackfill(flags)
    })

export function scheduleCommand(): Command {
  const command = new Command('schedule')
    .description('recurring syncs by Temporal: ensure, list, pause, resume, trigger, backfill, delete')
    .addCommand(ensureCommand())
    .addCommand(listCommand(), { isDefault: true })
  for (const change of Object.keys(ABOUT) as Change[]) command.addCommand(changeCommand(change))
  return command.addCommand(backfillCommand()).addHelpText(
    'after',
    `
Examples:
  $ convohouse schedule ensure               can be run repeatedly
  $ convohouse schedule list
  $ convohouse schedule pause --workspace ws_1
  $ convohouse schedule backfill --since 2026-01-01 --until 2026-04-01

A workspace's \`schedule: { every: 15m }\` in convohouse.yaml sets the interval. A scheduled run does the same as \`convohouse sync\`, or
joins a sync that is already running. A missed run needs no backfill: the next one reads everything new. A backfill is for older
time ranges, such as history before the configured \`since\`; it does not export stored conversations again.`,
  )
}
