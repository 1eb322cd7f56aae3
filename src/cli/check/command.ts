import type { Command } from 'commander'
import { addConfigFlag } from '../flags/sync-flags.ts'
import type { CheckFlags } from './check.ts'

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .argument('[names...]', 'only these checks; default: all')
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse check
  $ convohouse check conversations_unique loads_unique
  $ convohouse check --json | jq '.checks[] | select(.outcome != "passed")'

A check is a SELECT that returns the rows that break a rule. Your own are the .sql files of the folder \`checks\` in the configuration, each
with a header:

  -- Every conversation has a channel.
  -- severity: warn                                  error or warn
  -- table: conversations
  -- key: workspace_id, agent_id, conversation_id    optional: examples are stored, and syncs check changed records
  SELECT workspace_id, agent_id, conversation_id FROM conversations WHERE channel IS NULL

With names, the first rows of each check that fails are printed. Syncs run the checks too: over the records that changed, and once a day over all. Results are in the table _checks, unless another process
holds the warehouse. The exit code is 0 if all pass or only warnings fail, 6 if a check of severity error fails, 2 if one cannot run.`,
    )
    .action(async (names: string[], flags: CheckFlags) => {
      const { runCheckCommand } = await import('./check.ts')
      process.exitCode = await runCheckCommand(names, flags)
    })
