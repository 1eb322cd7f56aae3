import { Command } from 'commander'
import { CHANGES, type Change } from '../../run/temporal/client/schedule-change.ts'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { moment, whole } from '../flags/values.ts'
import type { BackfillFlags, ScheduleFlags } from '../schedule.ts'

const addFlags = (command: Command): Command =>
  addWorkspaceFlag(addConfigFlag(command)).option('--json', 'one JSON object a workspace, for machines')

const ABOUT: Record<Change, string> = {
  pause: 'let no tick come until it is resumed; a sync that goes on is not touched',
  resume: 'let ticks come again',
  trigger: 'have a tick now',
  delete: 'forget the schedule; `ensure` makes it again',
}

const ensureCommand = (): Command =>
  addFlags(new Command('ensure').description('make the schedules what the configuration says')).action(
    async (flags: ScheduleFlags) => {
      const { runEnsure } = await import('../schedule.ts')
      await runEnsure(flags)
    },
  )

const listCommand = (): Command =>
  addFlags(
    new Command('list').description('which there are, when their ticks come, and what became of the last run'),
  ).action(async (flags: ScheduleFlags) => {
    const { runList } = await import('../schedule.ts')
    await runList(flags)
  })

const changeCommand = (change: Change): Command =>
  addFlags(new Command(change).description(ABOUT[change])).action(async (flags: ScheduleFlags) => {
    const { runChange } = await import('../schedule.ts')
    await runChange(change, flags)
  })

const backfillCommand = (): Command =>
  addFlags(
    new Command('backfill').description('read what is missing of a stretch of time; Ctrl-C only stops looking on'),
  )
    .option('--since <moment>', 'from when on: a date, a time, or an age such as 90d', moment('--since'))
    .option('--until <moment>', 'until when (default: now)', moment('--until'))
    .option('--max-sessions <n>', 'buy at most so many sessions', whole('--max-sessions', 1))
    .option('-y, --yes', 'though it may take most of a period')
    .action(async (flags: BackfillFlags) => {
      const { runBackfill } = await import('../schedule.ts')
      process.exitCode = await runBackfill(flags)
    })

export function scheduleCommand(): Command {
  const command = new Command('schedule')
    .description('recurring syncs by Temporal: ensure, list, pause, resume, trigger, backfill, delete')
    .addCommand(ensureCommand())
    .addCommand(listCommand(), { isDefault: true })
  for (const change of CHANGES) command.addCommand(changeCommand(change))
  return command.addCommand(backfillCommand()).addHelpText(
    'after',
    `
Examples:
  $ convohouse schedule ensure               as often as it is run: the same schedules
  $ convohouse schedule list
  $ convohouse schedule pause --workspace ws_1
  $ convohouse schedule backfill --since 2026-01-01 --until 2026-04-01

A workspace's \`schedule: { every: 15m }\` in convohouse.yaml says when. A tick asks for what \`convohouse sync\` asks for; where
that is being done already, it is not done twice. No tick that was missed needs a backfill: the next one reads all that is new. A backfill
reads what is missing of a stretch of time, such as history before the configured \`since\`; what is held is not bought again.`,
  )
}
