// Where the SQL comes from: the argument, a file, or standard input.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { invalidFlag } from '../flags/values.ts'
import { isTerminal } from '../terminal/style.ts'

/** @throws FLAG_INVALID where there is none, two, or a file that cannot be read */
export async function readSql(argument: string | undefined, file: string | undefined): Promise<string> {
  if (argument !== undefined && file !== undefined)
    throw invalidFlag('SQL is given twice, as an argument and with --file.', 'Leave one of the two out.')
  if (file !== undefined && file !== '-') {
    return readFile(file, 'utf8').catch(cause => {
      throw invalidFlag(
        `--file: ${file} cannot be read (${cause.code ?? cause.message}).`,
        'Give the path of a file with one SELECT.',
      )
    })
  }
  if (argument !== undefined && argument !== '-') return argument
  if (isTerminal(process.stdin))
    throw invalidFlag('There is no SQL.', 'Give it as an argument, with --file, or on standard input.')
  return text(process.stdin)
}
