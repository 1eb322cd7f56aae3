import { Command } from 'commander'
import { filled } from '../flags/values.ts'

export const dictionaryCommand = (): Command =>
  new Command('dictionary')
    .description('print the data dictionary: every table and column')
    .option('-o, --output <file>', 'write it to a file', filled('--output'))
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse dictionary | less
  $ convohouse dictionary --output docs/data-dictionary.md`,
    )
    .action(async (flags: { output?: string }) => {
      const { runDictionary } = await import('../dictionary.ts')
      await runDictionary(flags)
    })
