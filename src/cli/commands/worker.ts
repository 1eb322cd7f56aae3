import { Command, Option } from 'commander'
import { ROLES, type Role } from '../../run/temporal/worker/role.ts'

import { addConfigFlag } from '../flags/sync-flags.ts'
import { invalidFlag, metricsAddress } from '../flags/values.ts'
import type { WorkerFlags } from '../worker/worker.ts'

export function role(text: string): Role {
  const known = ROLES.find(one => one === text)
  if (known) return known
  throw invalidFlag(`--role cannot be ${JSON.stringify(text)}.`, `Give one of: ${ROLES.join(', ')}.`)
}

export const workerCommand = (): Command =>
  addConfigFlag(new Command('worker').description('work for Temporal: take leases, load the warehouse, or both'))
    .option('--role <role>', 'export (leases; as many workers as you like), warehouse (one), or all', role, 'all')
    .option(
      '--metrics <host:port>',
      'serve metrics for Prometheus there (default: as configured, else nowhere)',
      metricsAddress,
    )
    .addOption(new Option('--supervised').hideHelp())
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse worker                                    all that one machine needs
  $ convohouse worker --role export                      on each machine that has the data folder
  $ convohouse worker --role warehouse --metrics 0.0.0.0:9464

Where Temporal is, Temporal's own variables and profile files say: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY,
TEMPORAL_TLS_…, TEMPORAL_PROFILE. SIGTERM and Ctrl-C end it when what is under way has landed.`,
    )
    .action(async (flags: WorkerFlags) => {
      const { runWorkerCommand } = await import('../worker/worker.ts')
      await runWorkerCommand(flags)
    })
