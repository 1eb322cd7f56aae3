// `convohouse dictionary`: every table and column, as the catalog declares them.
import { writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { notWritable } from '../core/disk.ts'
import { filled } from './flags/values.ts'
import { log } from './terminal/print.ts'

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
    .action(runDictionary)

/** @throws FLAG_INVALID if the file cannot be written */
async function runDictionary({ output }: { output?: string }): Promise<void> {
  const { dictionary } = await import('../catalog/dictionary.ts')
  const { RECORD_TYPES } = await import('../catalog/records.ts')
  const page = dictionary(RECORD_TYPES)
  if (output === undefined) {
    process.stdout.write(page)
    return
  }
  await writeFile(output, page).catch(cause => {
    throw notWritable('FLAG_INVALID', `--output: ${output}`, cause)
  })
  log(`Wrote ${output}`)
}
