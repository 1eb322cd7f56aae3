// `convohouse dictionary`: what the tables and views hold, in words.
import { writeFile } from 'node:fs/promises'
import { Command, Option } from 'commander'
import { notWritable } from '../core/disk.ts'
import type { DescribedTable } from '../warehouse/dictionary/described.ts'
import { filled, invalidFlag } from './flags/values.ts'
import { grid, gridOnStdout } from './terminal/columns.ts'
import { log, print, printJson } from './terminal/print.ts'

interface DictionaryFlags {
  output?: string
  diagram?: boolean
  json?: boolean
}

export const dictionaryCommand = (): Command =>
  new Command('dictionary')
    .description('print the data dictionary: every table and view with its columns, or one of them')
    .argument('[table]', 'only this table or view')
    .option('-o, --output <file>', 'write it to a file', filled('--output'))
    .addOption(
      new Option('--diagram', 'the diagrams of how the tables refer to each other, in Mermaid').conflicts('json'),
    )
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse dictionary conversations
  $ convohouse dictionary fct_handoffs          or marts.fct_handoffs
  $ convohouse dictionary | less
  $ convohouse dictionary --json | jq '.tables[].name'
  $ convohouse dictionary --output docs/data-dictionary.md
  $ convohouse dictionary --diagram --output docs/er-diagram.md

Personal data: identity (the contact), content (what was said or noted), device (the machine or network), staff (those who handle conversations).`,
    )
    .action(runDictionary)

/** @throws FLAG_INVALID if there is no such table, or if the file cannot be written */
async function runDictionary(table: string | undefined, flags: DictionaryFlags): Promise<void> {
  const { output, diagram = false, json = false } = flags
  if (table !== undefined && (output !== undefined || diagram))
    throw invalidFlag('--output and --diagram are for the whole dictionary.', 'Omit the table.')
  if (table !== undefined || json) return printTables(table, json)
  const { dictionaryPage, diagramPage } = await import('../warehouse/dictionary/markdown.ts')
  const page = diagram ? diagramPage() : await dictionaryPage()
  if (output === undefined) {
    process.stdout.write(page)
    return
  }
  await writeFile(output, page).catch(cause => {
    throw notWritable('FLAG_INVALID', `--output: ${output}`, cause)
  })
  log(`Wrote ${output}`)
}

const COLUMNS = [
  { name: 'column' },
  { name: 'type' },
  { name: 'personal data' },
  { name: 'field of the API' },
  { name: 'description' },
]

const tableLines = ({ name, kind, about, columns }: DescribedTable): string[] => [
  `${name} (${kind}): ${about}`,
  '',
  ...grid(
    COLUMNS,
    columns.map(({ name, sqlType, pii, path, about }) => [name, sqlType, pii === 'none' ? '' : pii, path ?? '', about]),
    gridOnStdout(),
  ),
]

/** Prints one table, or all tables as JSON. @throws FLAG_INVALID if there is no such table */
async function printTables(name: string | undefined, json: boolean): Promise<void> {
  const { describedTables } = await import('../warehouse/dictionary/dictionary.ts')
  const all = await describedTables()
  const chosen = name === undefined ? all : all.filter(table => table.name === name || table.name === `marts.${name}`)
  if (chosen.length === 0)
    throw invalidFlag(
      `The dictionary has no table ${JSON.stringify(name)}.`,
      `It has: ${all.map(table => table.name).join(', ')}.`,
    )
  if (json) printJson({ tables: chosen })
  else for (const table of chosen) print(...tableLines(table))
}
