// The command `sync`: its flags and help.
import { type Command, Option } from 'commander'
import { addSyncFlags, type SyncFlags } from '../flags/sync-flags.ts'

export const define = (command: Command): Command =>
  addSyncFlags(command)
    .addOption(new Option('--supervised').hideHelp())
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse sync                          everything new; history on the first run
  $ convohouse sync --since 30d              no history before the last 30 days
  $ convohouse sync --watch 15m              repeat every 15 minutes
  $ convohouse sync --refresh 7d             also refresh what was active in the last 7 days
  $ convohouse sync --full --agent a_1       export one agent again (billed again)
  $ convohouse sync --max-sessions 5000      at most 5,000 billed sessions in this run
  $ convohouse sync --on temporal            on Temporal workers; Ctrl-C only detaches
  $ convohouse sync --no-wait                stop at the rate limit (exit code 7)
  $ convohouse query "SELECT agent_id, conversation_id FROM conversations WHERE NOT is_resolved" --format csv \\
      | tail -n +2 | convohouse sync --ids -      export only these again

Exit codes: 0 done, or stopped at --max-requests or --max-sessions, 2 input, 3 access, 4 vendor, 5 transient, 6 storage,
7 rate limit reached, 8 quota used up, 130 stopped on request. A sync that was stopped or killed continues where it stopped;
with --ids, it exports the finished parts of the list again.`,
    )
    .action(async (flags: SyncFlags) => {
      process.exitCode = await run(flags)
    })

/** Runs the sync here, or in watch mode in a supervised child. Its modules load only now, since they take most of the start-up time. */
const run = async (flags: SyncFlags): Promise<number> =>
  flags.watch === undefined || flags.supervised
    ? (await import('./sync.ts')).runSync(flags)
    : (await import('./watch.ts')).watchInChild(flags)
