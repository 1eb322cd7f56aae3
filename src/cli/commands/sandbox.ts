import { Command } from 'commander'
import { DAY, SECOND } from '../../core/time.ts'
import { duration, filled, moment, number, oneOf, whole } from '../flags/values.ts'
import type { SandboxFlags } from '../sandbox/run-sandbox.ts'

export const sandboxCommand = (): Command =>
  new Command('sandbox')
    .description("serve the vendor's API with generated data, until it is stopped")
    .option('--port <n>', 'port; 0 takes a free one (default: 4010)', whole('--port', 0, 65_535))
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)', filled('--host'))
    .option('--workspace-id <id>', 'id of the workspace (default: ws_demo)', filled('--workspace-id'))
    .option('--token <token>', 'token that callers need (default: sandbox-token)', filled('--token'))
    .option('--agents <n>', 'agents (default: 3)', whole('--agents', 1, 10_000))
    .option(
      '--conversations <n>',
      'conversations of the past, over all agents (default: 20000)',
      whole('--conversations', 0),
    )
    .option(
      '--history-days <n>',
      'days of the past that they began in (default: 90)',
      number('--history-days', { min: 0.001, max: 2_000 }),
    )
    .option(
      '--arrivals-per-day <n>',
      'new conversations a day (default: 200)',
      number('--arrivals-per-day', { min: 0, max: 1_000_000 }),
    )
    .option('--seed <n>', 'another seed, other data (default: 1)', whole('--seed', -(2 ** 31), 2 ** 32 - 1))
    .option('--ts <meaning>', 'what ts tells: created (default) or activity', oneOf('--ts', ['created', 'activity']))
    .option('--unpaid', 'a workspace that has never paid: the export is refused')
    .option('--no-limits', 'no hourly limit and no quota')
    .option('--hourly <n>', 'requests an hour (default: 1500)', whole('--hourly', 1, 1_000_000))
    .option('--hour <duration>', 'length of that hour (default: 1h)', duration('--hour', { min: 0.001 * SECOND }))
    .option('--quota <n>', 'sessions included in a period (default: 50000)', whole('--quota', 0, 1_000_000_000))
    .option('--period-days <n>', 'days of a period (default: 30)', number('--period-days', { min: 0.0001, max: 3_660 }))
    .option(
      '--latency <duration>',
      'wait before each answer: 100ms, or a number of ms (default: 0)',
      duration('--latency', { min: 0, bare: 1 }),
    )
    .option(
      '--mirror-lag <duration>',
      'how late the export is (default: 0)',
      duration('--mirror-lag', { min: 0, bare: 1 }),
    )
    .option('--start <moment>', "the sandbox's time at the start (default: now)", moment('--start'))
    .option(
      '--speed <n>',
      'sandbox seconds to a real one; 0 stands still (default: 1)',
      number('--speed', { min: 0, max: 1_000_000 }),
    )
    .option('--cache <bytes>', 'memory for rendered records (default: 192 MiB)', whole('--cache', 0, 2 ** 36))
    .option('--json', 'tell the address as one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse sandbox                                   on port 4010
  $ convohouse sandbox --conversations 200000 --no-limits
  $ convohouse sandbox --latency 200ms --hourly 50 --hour 1m   a slow vendor with a short hour
  $ convohouse sandbox --start 2026-01-01 --speed ${DAY / SECOND}     a day a second`,
    )
    .action(async (flags: SandboxFlags) => {
      const { runSandbox } = await import('../sandbox/run-sandbox.ts')
      await runSandbox(flags)
    })
