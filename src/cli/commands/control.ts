// `pause`, `resume`, `allow`, `cancel`: control a sync that runs on Temporal.
import { Command } from 'commander'
import type { ControlCommand, ControlFlags } from '../control.ts'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { whole } from '../flags/values.ts'

const ABOUT: Record<ControlCommand, { description: string; example: string }> = {
  pause: {
    description: 'pause the sync on Temporal: it makes no request until it is resumed',
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

const steerCommand = (steering: ControlCommand): Command => {
  const { description, example } = ABOUT[steering]
  return addWorkspaceFlag(addConfigFlag(new Command(steering).description(description)))
    .addHelpText('after', `\nExamples:\n  $ convohouse ${steering} --workspace ws_1${example}`)
    .action(async (flags: ControlFlags) => {
      const { runControl } = await import('../control.ts')
      await runControl(steering, flags)
    })
}

export const pauseCommand = (): Command => steerCommand('pause')
export const resumeCommand = (): Command => steerCommand('resume')
export const allowCommand = (): Command =>
  steerCommand('allow')
    .option(
      '--overage-packs <n>',
      'overage packs that it may use, in total; history that was left out for lack of sessions is planned again',
      whole('--overage-packs', 1),
    )
    .option('--max-sessions <n>', 'a higher limit of billed sessions than it started with', whole('--max-sessions', 1))
export const cancelCommand = (): Command => steerCommand('cancel')
