import { Command } from 'commander'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import type { DoctorFlags } from './configuration.ts'

export const doctorCommand = (): Command =>
  addWorkspaceFlag(
    addConfigFlag(
      new Command('doctor').description(
        'check everything that a sync depends on, and explain how to fix problems; costs no session',
      ),
    ),
  )
    .option('--offline', 'make no request and no connection: check only the configuration and the data folder')
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse doctor                        configuration, token, API, clock, disk, landing, warehouse, versions
  $ convohouse doctor --offline              no requests
  $ convohouse doctor --json | jq '.checks[] | select(.state != "ok")'

It makes one request per workspace, for the list of agents, which costs nothing, and connects to targets in PostgreSQL and S3
(in S3 it writes, copies and deletes an object).
The exit code is 0 if every check passed, else the code of the first failed check.`,
    )
    .action(async (flags: DoctorFlags) => {
      const { runDoctor } = await import('./doctor.ts')
      process.exitCode = await runDoctor(flags)
    })
