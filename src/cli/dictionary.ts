// `convohouse dictionary`: every table and column, as the catalog declares them.
import { writeFile } from 'node:fs/promises'
import { dictionary } from '../catalog/dictionary.ts'
import { RECORD_TYPES } from '../catalog/records.ts'
import { invalidFlag } from './flags/values.ts'
import { log } from './terminal/print.ts'

/** @throws FLAG_INVALID where the file cannot be written */
export async function runDictionary({ output }: { output?: string }): Promise<void> {
  const page = dictionary(RECORD_TYPES)
  if (output === undefined) {
    process.stdout.write(page)
    return
  }
  await writeFile(output, page).catch(cause => {
    throw invalidFlag(`--output: ${output} cannot be written (${cause.code}).`, 'Give a file in an existing folder.')
  })
  log(`Wrote ${output}`)
}
