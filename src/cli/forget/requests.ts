// Reads requests to forget somebody: from flags, or from a CSV file with a column for each of them.
import { readFile } from 'node:fs/promises'
import type { Named } from '../../run/find-people.ts'
import { csvLines } from '../flags/csv-lines.ts'
import { invalidFlag } from '../flags/values.ts'

const COLUMNS = ['email', 'phone', 'user', 'conversation'] as const satisfies readonly (keyof Named)[]

export type RequestFlags = Named & { file?: string }

const invalid = (file: string, line: number, why: string) =>
  invalidFlag(
    `${file}, line ${line} ${why}.`,
    `Write a CSV file (UTF-8, commas) whose header names at least one of ${COLUMNS.join(', ')}.`,
  )

/** Parses a file of requests. @throws FLAG_INVALID, naming the line */
export function parseRequests(content: string, file: string): Named[] {
  const [first, ...rest] = csvLines(content, line => invalid(file, line, 'has quotes that do not enclose a whole cell'))
  if (!first) throw invalid(file, 1, 'is missing: the file is empty')
  const header = first.cells.map(name => name.toLowerCase())
  const unknown = header.find(name => !COLUMNS.some(column => column === name))
  if (unknown !== undefined) throw invalid(file, first.line, `has the column ${JSON.stringify(unknown)}`)
  return rest.map(({ line, cells }) => {
    if (cells.length > header.length)
      throw invalid(file, line, `has ${cells.length} cells for ${header.length} columns`)
    const given = header.flatMap((name, index) => (cells[index] ? [[name, cells[index]] as const] : []))
    if (given.length === 0) throw invalid(file, line, 'names nobody')
    return Object.fromEntries(given)
  })
}

/** Returns the requests of a command. @throws FLAG_INVALID if there are none */
export async function requestsOf(flags: RequestFlags): Promise<Named[]> {
  const own = COLUMNS.flatMap(name => (flags[name] === undefined ? [] : [{ [name]: flags[name] }]))
  if (flags.file === undefined && own.length === 0)
    throw invalidFlag('Nobody is named.', `Give one of ${COLUMNS.map(name => `--${name}`).join(', ')}, or --file.`)
  if (flags.file === undefined) return own
  const content = await readFile(flags.file, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw invalidFlag(`${flags.file} cannot be read (${code}).`, 'Give the path of a CSV file.')
  })
  return [...own, ...parseRequests(content, flags.file)]
}
