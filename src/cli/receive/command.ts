import type { Command } from 'commander'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { filled, whole } from '../flags/values.ts'
import type { ReceiveFlags } from './receive.ts'

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)', filled('--host'))
    .option('--port <n>', 'port; 0 takes a free one (default: 8787)', whole('--port', 0, 65_535))
    .option('--json', 'print the address as one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse receive                       listen on 127.0.0.1:8787, behind a TLS proxy
  $ convohouse receive --host 0.0.0.0 --port 80
  $ curl http://127.0.0.1:8787/metrics

An event is written to the spool in the data folder before it is acknowledged. Several receivers may share a data folder.
The configuration of a workspace names its secrets: \`webhooks: { secrets: [{ env: CONVOHOUSE_WEBHOOK_SECRET }] }\`. Without a
configuration file, CONVOHOUSE_WEBHOOK_SECRET is used. SIGHUP rereads the secrets. SIGTERM and Ctrl-C stop the receiver once requests
in flight are on disk. docs/webhooks.md describes the vendor's settings, a TLS proxy, and how to test.`,
    )
    .action(async (flags: ReceiveFlags) => {
      const { runReceive } = await import('./receive.ts')
      await runReceive(flags)
    })
