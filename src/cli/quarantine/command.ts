import { Command } from 'commander'
import { addConfigFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import type { QuarantineFlags } from './quarantine.ts'

const RECORD_HELP = 'an id from `list`, or FILE#ELEMENT'

const addFlags = (command: Command): Command =>
  addWorkspaceFlag(addConfigFlag(command)).option('--json', 'one JSON object, for machines')

const listCommand = (): Command =>
  addFlags(new Command('list').description('list the records, with reason and date; works while a sync runs')).action(
    async (flags: QuarantineFlags) => {
      const { runList } = await import('./quarantine.ts')
      await runList(flags)
    },
  )

const showCommand = (): Command =>
  addFlags(new Command('show').description('print a record as it landed; works while a sync runs'))
    .argument('<record>', RECORD_HELP)
    .action(async (record: string, flags: QuarantineFlags) => {
      const { runShow } = await import('./quarantine.ts')
      await runShow(record, flags)
    })

const retryCommand = (): Command =>
  addFlags(
    new Command('retry').description(
      'read the records from landing and spool again and load those that can be loaded now',
    ),
  )
    .argument('[records...]', `${RECORD_HELP}; default: all`)
    .action(async (records: string[], flags: QuarantineFlags) => {
      const { runRetry } = await import('./quarantine.ts')
      await runRetry(records, flags)
    })

export const quarantineCommand = (): Command =>
  new Command('quarantine')
    .description('records that could not be loaded: list them, show one, retry them')
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(showCommand())
    .addCommand(retryCommand())
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse quarantine list
  $ convohouse quarantine show 3f2a91c0 | jq .
  $ convohouse quarantine retry              after an update, or with more memory

A record that cannot be loaded does not stop a sync and is not lost: it stays unchanged in the landing, an event in the
spool's archive.`,
    )
