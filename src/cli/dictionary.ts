// `convohouse dictionary`: what the tables and views hold, in words.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { diskErrorText, notWritable } from '../core/disk.ts'
import type { GrafanaDashboard } from '../publish/dbt-properties.ts'
import type { DescribedTable } from '../warehouse/dictionary/described.ts'
import type { StoredModel } from '../warehouse/models/stored-models.ts'
import { storageOf } from './flags/configuration.ts'
import { filled, invalidFlag } from './flags/values.ts'
import { grid, gridOnStdout } from './terminal/columns.ts'
import { log, print, printJson } from './terminal/print.ts'

interface DictionaryFlags {
  output?: string
  diagram?: boolean
  dbt?: boolean
  grafana?: string
  json?: boolean
}

export const define = (command: Command): Command =>
  command
    .argument('[table]', 'only this table or view')
    .option('-o, --output <file>', 'write it to a file', filled('--output'))
    .addOption(
      new Option('--diagram', 'the diagrams of how the tables refer to each other, in Mermaid').conflicts('json'),
    )
    .addOption(
      new Option('--dbt', 'the published tables as sources of a dbt project, with descriptions and tests').conflicts([
        'json',
        'diagram',
      ]),
    )
    .option(
      '--grafana <folder>',
      'with --dbt: dashboards of Grafana (*.json), of which each becomes an exposure',
      filled('--grafana'),
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

Personal data: identity (the contact), content (what was said or noted), device (the machine or network), staff (those who handle conversations).`,
    )
    .action(runDictionary)

/** @throws FLAG_INVALID if there is no such table, or if the file cannot be written */
async function runDictionary(table: string | undefined, flags: DictionaryFlags): Promise<void> {
  const { output, diagram = false, dbt = false, grafana, json = false } = flags
  if (table !== undefined && (output !== undefined || diagram || dbt))
    throw invalidFlag('--output, --diagram and --dbt are for the whole dictionary.', 'Omit the table.')
  if (grafana !== undefined && !dbt) throw invalidFlag('--grafana needs --dbt.', 'Add --dbt, or omit --grafana.')
  if (table !== undefined || json) return printTables(table, json)
  const page = dbt ? await dbtFile(grafana) : await markdown(diagram)
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

async function dbtFile(folder: string | undefined): Promise<string> {
  const { dbtProperties } = await import('../publish/dbt-properties.ts')
  return dbtProperties(folder === undefined ? [] : await readDashboards(folder), await modelsIfAny())
}

/** @throws FLAG_INVALID */
async function readDashboards(folder: string): Promise<GrafanaDashboard[]> {
  const names = await readdir(folder).catch(cause => {
    throw invalidFlag(`--grafana: ${folder} cannot be read: ${diskErrorText(cause)}.`, 'Give a folder with dashboards.')
  })
  const files = names.filter(name => name.endsWith('.json')).sort()
  return Promise.all(files.map(name => readDashboard(join(folder, name))))
}

/** @throws FLAG_INVALID */
async function readDashboard(file: string): Promise<GrafanaDashboard> {
  const dashboard: unknown = await readFile(file, 'utf8')
    .then(text => JSON.parse(text))
    .catch(() => null)
  if (isDashboard(dashboard)) return dashboard
  throw invalidFlag(
    `--grafana: ${file} is no dashboard of Grafana.`,
    'Export the dashboard as JSON, or move the file away.',
  )
}

const isDashboard = (value: unknown): value is GrafanaDashboard => {
  const { uid, title, panels } = (value ?? {}) as Partial<Record<keyof GrafanaDashboard, unknown>>
  return typeof uid === 'string' && typeof title === 'string' && Array.isArray(panels)
}

const COLUMNS = [
  { name: 'column' },
  { name: 'type' },
  { name: 'personal data' },
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

/** The user's models that are built, if there is a warehouse that can be read now. */
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

/** Edits (a character more, less or other) that make one text the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [i, one] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries())
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (one === other ? 0 : 1)))
    row = next
  }
  return row.at(-1)!
}

const MOST_SUGGESTED = 5

/** The names that were most likely meant: similar ones, and those that contain the given one. */
function suggested(given: string, names: readonly string[]): string[] {
  const bare = (name: string) => name.toLowerCase().replace(/^((marts|models)\.)?((fct|dim)_)?/, '')
  const wanted = bare(given)
  const isLikely = (name: string, edits: number) =>
    edits <= Math.max(1, wanted.length / 3) || (wanted.length > 2 && bare(name).includes(wanted))
  return names
    .map(name => ({ name, edits: distance(wanted, bare(name)) }))
    .filter(({ name, edits }) => isLikely(name, edits))
    .sort((a, b) => a.edits - b.edits)
    .slice(0, MOST_SUGGESTED)
    .map(({ name }) => name)
}

function unknownTable(given: string, names: readonly string[]): Error {
  const sorted = [...names].sort()
  const meant = suggested(given, sorted)
  return invalidFlag(
    `The dictionary has no table ${JSON.stringify(given)}.`,
    `${meant.length === 0 ? '' : `Did you mean ${meant.join(', ')}? `}It has: ${sorted.join(', ')}.`,
  )
}

/** Prints one table, or all tables as JSON. @throws FLAG_INVALID if there is no such table */
async function printTables(name: string | undefined, json: boolean): Promise<void> {
  const { describedTables } = await import('../warehouse/dictionary/dictionary.ts')
  const all = [...(await describedTables()), ...(await describedModels())]
  const chosen =
    name === undefined
      ? all
      : all.filter(table => table.name === name || [`marts.${name}`, `models.${name}`].includes(table.name))
  if (name !== undefined && chosen.length === 0)
    throw unknownTable(
      name,
      all.map(table => table.name),
    )
  if (json) printJson({ tables: chosen })
  else for (const table of chosen) print(...tableLines(table))
}
