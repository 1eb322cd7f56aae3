// `pause`, `resume`, `allow`, `cancel`: control a sync that runs on Temporal.
import { Command } from 'commander'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { whole } from '../flags/values.ts'
import type { ControlCommand, ControlFlags } from './control.ts'

const ABOUT: Record<ControlCommand, { description: string; example: string }> = {
  pause: {
    description: 'pause the sync on Temporal: it makes no requests until it is resumed',
    example: '     requests in flight still land',
  },
  resume: { description: 'resume a paused sync', example: '     continues where it stopped' },
  allow: {
    description: 'raise the session limit of the sync on Temporal',
    example: ' --overage-packs 2     two packs in total, beyond the quota',
  },
  cancel: {
    description: 'end the sync on Temporal; a cancelled full export continues only with `sync --full`',
    example: '     requests in flight still land; the next sync continues',
  },
}

const controlCommand = (name: ControlCommand): Command => {
  const { description, example } = ABOUT[name]
  return addWorkspaceFlag(addConfigFlag(new Command(name).description(description)))
    .addHelpText('after', `\nExamples:\n  $ convohouse ${name} --workspace ws_1${example}`)
    .action(async (flags: ControlFlags) => {
      const { runControl } = await import('./control.ts')
      await runControl(name, flags)
    })
}

export const pauseCommand = (): Command => controlCommand('pause')
export const resumeCommand = (): Command => controlCommand('resume')
export const allowCommand = (): Command =>
  controlCommand('allow')
    .option(
      '--overage-packs <n>',
      'total number of overage packs that the sync may use; history that was skipped for lack of sessions is planned again',
      whole('--overage-packs', 1),
    )
    .option(
      '--max-sessions <n>',
      'new limit of billed sessions, higher than the current one',
      whole('--max-sessions', 1),
    )
export const cancelCommand = (): Command => controlCommand('cancel')
