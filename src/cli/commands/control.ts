// `pause`, `resume`, `allow`, `cancel`: what may be said to a sync that Temporal runs.
import { Command } from 'commander'
import type { ControlCommand, ControlFlags } from '../control.ts'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { whole } from '../flags/values.ts'

const ABOUT: Record<ControlCommand, { description: string; example: string }> = {
  pause: {
    description: 'let the sync that Temporal runs ask for nothing until it is resumed',
    example: '     what is under way still lands',
  },
  resume: { description: 'let a paused sync go on', example: '     where it was' },
  allow: {
    description: 'let the sync that Temporal runs buy more than it might',
    example: ' --overage-packs 2     two packs in all, beyond the quota',
  },
  cancel: {
    description: 'end the sync that Temporal runs; a full export that is ended so is continued by `sync --full` alone',
    example: '     requests in flight still land; the next goes on',
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
      'packs of overage that it may buy, in all; history that was left for want of sessions is planned again',
      whole('--overage-packs', 1),
    )
    .option('--max-sessions <n>', 'a higher limit than the one that it was given', whole('--max-sessions', 1))
export const cancelCommand = (): Command => steerCommand('cancel')
