import { Command } from 'commander'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { filled, repeated } from '../flags/values.ts'
import type { ApiFlags } from './api.ts'

export const apiCommand = (): Command =>
  addConfigFlag(new Command('api').description("call one operation of the vendor's API: JSON in and out"))
    .argument('[operation]', 'for example listTools; without it, all operations are listed')
    .option('-w, --workspace <id>', 'the workspace; needed if several are configured', filled('--workspace'))
    .option('-a, --agent <id>', 'the agent', filled('--agent'))
    .option('--metric <id>', 'the custom metric', filled('--metric'))
    .option('--org <id>', 'the organization', filled('--org'))
    .option('--job <id>', 'the crawler job', filled('--job'))
    .option('--page <id>', 'the page of the crawler job', filled('--page'))
    .option('-q, --query <name=value>', 'a query parameter; may be repeated', repeated('--query'))
    .option('-b, --body <file>', 'the body as JSON; - reads standard input', filled('--body'))
    .option('--show-secrets', 'print secrets in answers, which are left out otherwise; never the API token')
    .option('-y, --yes', 'skip the question before an operation that writes, deletes or bills')
    .option('--json', 'the list of operations, and errors, as JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse api
  $ convohouse api listTools --agent ag_1
  $ convohouse api listVoices --query language=de --query limit=5
  $ convohouse api createVariable --agent ag_1 --body variable.json
  $ echo '{"updates": {"workspaceName": "North"}}' | convohouse api updateWorkspace --body - --yes
  $ convohouse api exportConversations --agent ag_1 --query limit=5 --yes

Operations that write or delete ask first, and are never repeated automatically once they may have been carried out. exportConversations asks, too:
it bills sessions and uses hourly requests, outside the limits that a sync keeps, and what it prints is not loaded.`,
    )
    .action(async (operation: string | undefined, flags: ApiFlags) => {
      const { runApi } = await import('./api.ts')
      await runApi(operation, flags)
    })
