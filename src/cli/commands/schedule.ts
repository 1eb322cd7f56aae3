import { Command } from 'commander'
import { CHANGES, type Change } from '../../run/temporal/schedule-change.ts'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import type { ScheduleFlags } from '../schedule/run-schedule.ts'

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
      const { runEnsure } = await import('../schedule/run-schedule.ts')
      await runEnsure(flags)
    },
  )

const listCommand = (): Command =>
  addFlags(new Command('list').description('which there are, and when their ticks come')).action(
    async (flags: ScheduleFlags) => {
      const { runList } = await import('../schedule/run-schedule.ts')
      await runList(flags)
    },
  )

const changeCommand = (change: Change): Command =>
  addFlags(new Command(change).description(ABOUT[change])).action(async (flags: ScheduleFlags) => {
    const { runChange } = await import('../schedule/run-schedule.ts')
    await runChange(change, flags)
  })

export function scheduleCommand(): Command {
  const command = new Command('schedule')
    .description('recurring syncs by Temporal: ensure, list, pause, resume, trigger, delete')
    .addCommand(ensureCommand())
    .addCommand(listCommand(), { isDefault: true })
  for (const change of CHANGES) command.addCommand(changeCommand(change))
  return command.addHelpText(
    'after',
    `
Examples:
  $ convohouse schedule ensure               as often as it is run: the same schedules
  $ convohouse schedule list
  $ convohouse schedule pause --workspace ws_1

A workspace's \`schedule: { every: 15m }\` in convohouse.yaml says when. A tick asks for what \`convohouse sync\` asks for; where
that is being done already, it is not done twice.`,
  )
}
