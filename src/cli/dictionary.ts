// `convohouse dictionary`: describes the tables and views in words.
import { writeFile } from 'node:fs/promises'
import { type Command, Option } from 'commander'
import { notWritable } from '../core/disk.ts'
import type { DescribedTable } from '../warehouse/dictionary/dictionary.ts'
import type { StoredModel } from '../warehouse/models/stored-models.ts'
import { storageOf } from './flags/configuration.ts'
import { invalidFlag, newPath } from './flags/values.ts'
import { grid, gridOnStdout } from './terminal/columns.ts'
import { log, print, printJson } from './terminal/print.ts'
import { similarName } from './terminal/similar-name.ts'

interface DictionaryFlags {
  output?: string
  diagram?: boolean
  dbt?: boolean
  json?: boolean
}

export const define = (command: Command): Command =>
  command
    .argument('[table]', 'only this table or view')
    .option('-o, --output <file>', 'write it to a file', newPath('--output'))
    .addOption(
      new Option('--diagram', 'the diagrams of how the tables refer to each other, in Mermaid').conflicts('json'),
    )
    .addOption(
      new Option('--dbt', 'the published tables as sources of a dbt project, with descriptions and tests').conflicts([
        'json',
        'diagram',
      ]),
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
  $ convohouse dictionary --dbt --output models/sources.yml

Classes: identity (the contact), content (what was said or noted), device (the machine or network), staff (those who handle conversations),
label (tags and names), word and code (texts of that form).`,
    )
    .action(runDictionary)

/** @throws FLAG_INVALID if there is no such table, or if the file cannot be written */
async function runDictionary(table: string | undefined, flags: DictionaryFlags): Promise<void> {
  const { output, diagram = false, dbt = false, json = false } = flags
  if (table !== undefined && (output !== undefined || diagram || dbt))
    throw invalidFlag('--output, --diagram and --dbt are for the whole dictionary.', 'Omit the table.')
  if (table !== undefined || json) return printTables(table, json)
  const page = dbt ? await dbtFile() : await markdown(diagram)
  if (output === undefined) {
    process.stdout.write(page)
    return
  }
  await writeFile(output, page).catch(cause => {
    throw notWritable('FLAG_INVALID', `--output: ${output}`, cause)
  })
  log(`Wrote ${output}`)
}

async function markdown(isDiagram: boolean): Promise<string> {
  const { dictionaryPage, diagramPage } = await import('../warehouse/dictionary/markdown.ts')
  return isDiagram ? diagramPage() : dictionaryPage()
}

async function dbtFile(): Promise<string> {
  const { dbtProperties } = await import('../publish/dbt-properties.ts')
  return dbtProperties(await modelsIfAny())
}

const COLUMNS = [
  { name: 'column' },
  { name: 'type' },
  { name: 'class' },
  { name: 'field of the API' },
  { name: 'description' },
]

const tableLines = ({ name, kind, about, example, columns }: DescribedTable): string[] => [
  `${name} (${kind}): ${about}`,
  '',
  ...(example ? [example, ''] : []),
  ...grid(
    COLUMNS,
    columns.map(({ name, sqlType, pii, path, about }) => [name, sqlType, pii === 'none' ? '' : pii, path ?? '', about]),
    gridOnStdout(),
  ),
]

/** Returns the user's built models, if there is a warehouse that can be read now. */
async function modelsIfAny(): Promise<StoredModel[]> {
  const { builtModels } = await import('../warehouse/models/stored-models.ts')
  const { warehouseRows } = await import('../warehouse/query/rows.ts')
  return builtModels({ rows: warehouseRows(storageOf(undefined)) }).catch(() => [])
}

async function describedModels(): Promise<DescribedTable[]> {
  const { tableOf } = await import('../warehouse/models/stored-models.ts')
  return (await modelsIfAny()).map(({ name, about, columns }) => ({
    ...{ name: tableOf(name), kind: 'table' as const, about },
    columns: columns.map(column => ({ ...column, path: null })),
  }))
}

/** Prints one table, or all tables as JSON. @throws FLAG_INVALID if there is no such table */
async function printTables(name: string | undefined, json: boolean): Promise<void> {
  const { describedTables } = await import('../warehouse/dictionary/dictionary.ts')
  const all = [...(await describedTables()), ...(await describedModels())]
  const chosen =
    name === undefined
      ? all
      : all.filter(table => table.name === name || [`marts.${name}`, `models.${name}`].includes(table.name))
  if (name !== undefined && chosen.length === 0) {
    const names = all.map(table => table.name).sort()
    // Its schema may be missing.
    const guess =
      similarName(name, names) ?? similarName(`marts.${name}`, names) ?? similarName(`models.${name}`, names)
    throw invalidFlag(
      `The dictionary has no table ${JSON.stringify(name)}.`,
      `${guess === undefined ? '' : `Did you mean ${guess}? `}It has: ${names.join(', ')}.`,
    )
  }
  if (json) printJson({ tables: chosen })
  else for (const table of chosen) print(...tableLines(table))
}
