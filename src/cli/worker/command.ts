import { Command, Option } from 'commander'
import type { Role } from '../../run/temporal/worker/worker.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { invalidFlag, metricsAddress } from '../flags/values.ts'
import type { WorkerFlags } from './worker.ts'

const ROLES = ['export', 'warehouse', 'all'] as const satisfies readonly Role[]

function role(text: string): Role {
  const known = ROLES.find(one => one === text)
  if (known) return known
  throw invalidFlag(`--role cannot be ${JSON.stringify(text)}.`, `Give one of: ${ROLES.join(', ')}.`)
}

export const workerCommand = (): Command =>
  addConfigFlag(new Command('worker').description('run a Temporal worker: for exports, for the warehouse, or both'))
    .option('--role <role>', 'export (any number of workers), warehouse (exactly one), or all', role, 'all')
    .option(
      '--metrics <host:port>',
      'serve metrics for Prometheus at this address (default: as configured, else none)',
      metricsAddress,
    )
    .addOption(new Option('--supervised').hideHelp())
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse worker                                    all roles on one machine
  $ convohouse worker --role export                      on each machine that shares the data folder
  $ convohouse worker --role warehouse --metrics 0.0.0.0:9464

Temporal's own variables and profile files configure the server: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY,
TEMPORAL_TLS_…, TEMPORAL_PROFILE. SIGTERM and Ctrl-C stop the worker once requests in flight have landed.`,
    )
    .action(async (flags: WorkerFlags) => {
      const { runWorkerCommand } = await import('./worker.ts')
      await runWorkerCommand(flags)
    })
