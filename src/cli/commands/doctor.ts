import { Command } from 'commander'
import type { DoctorFlags } from '../doctor/configuration.ts'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'

export const doctorCommand = (): Command =>
  addWorkspaceFlag(
    addConfigFlag(
      new Command('doctor').description('look at everything that a sync stands on, and say what to mend; buys nothing'),
    ),
  )
    .option('--offline', 'ask nobody but the data folder')
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse doctor                        configuration, token, API, clock, disk, landing, warehouse, versions
  $ convohouse doctor --offline              without a request
  $ convohouse doctor --json | jq '.checks[] | select(.state != "ok")'

One request is made for each workspace, of its list of agents, which costs nothing. The exit code is 0 where nothing
failed, else that of the first check that did.`,
    )
    .action(async (flags: DoctorFlags) => {
      const { runDoctor } = await import('../doctor/doctor.ts')
      process.exitCode = await runDoctor(flags)
    })
