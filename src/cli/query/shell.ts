// `convohouse query` without SQL on a terminal: runs statements, each as `query SQL` does, and commands that begin with a dot.
import { appendFile, readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { count } from '../../core/words.ts'
import { onOneLine, splitStatements } from '../../warehouse/query/guard/sql-text.ts'
import { queryWarehouse, type WarehouseAccess } from '../../warehouse/query/warehouse-client.ts'
import { errorLines } from '../terminal/error-text.ts'
import { log, print } from '../terminal/print.ts'
import { listenInstead } from '../terminal/signals.ts'
import { styleOf } from '../terminal/style.ts'
import { complete, LIST_NAMES, readNames } from './completion.ts'
import { type Mode, showResult } from './pager.ts'
import { withHint } from './sql-hints.ts'

interface ShellOptions {
  access: WarehouseAccess
  mode: Mode
  limits: { timeoutMs: number; maxRows?: number }
  /** One statement per line, the newest last; null keeps none. */
  historyFile: string | null
}

const PROMPT = 'convohouse> '
const CONTINUED = '       ...> '
const MODES: readonly Mode[] = ['table', 'csv', 'json', 'line']
const MAX_HISTORY = 1_000

const LIST_TABLES = `SELECT table_schema AS schema, table_name AS name, lower(table_type[-5:]) AS kind
FROM information_schema.tables WHERE table_catalog = current_database() ORDER BY ALL`

const HELP = `A statement ends with ; and may have several lines.
  .tables              list tables, views and marts
  .schema TABLE        list the columns of a table
  .mode ${MODES.join('|')}   set the format of answers; line prints one value per line
  .timing on|off       print how long each statement takes
  .help                show this help
  .quit                end the shell, as Ctrl-D does
Tab completes names and keywords. Ctrl-C cancels a statement.`

const COMMANDS = [...HELP.matchAll(/^ {2}(\.\w+)/gm)].map(([, name]) => name!)

/** Runs until `.quit`, Ctrl-D or the end of the input. */
export async function runShell({ access, mode: firstMode, limits, historyFile }: ShellOptions): Promise<void> {
  const saved = historyFile === null ? '' : await readFile(historyFile, 'utf8').catch(() => '')
  const history = saved.split('\n').filter(Boolean).slice(-MAX_HISTORY).reverse()
  let [mode, isTimed, begun] = [firstMode, false, '']
  let running: AbortController | null = null
  let names: ReturnType<typeof readNames> | null = null

  const lines = createInterface({
    ...{ input: process.stdin, output: process.stdout, history: [...history], historySize: MAX_HISTORY },
    async completer(before: string): Promise<[string[], string]> {
      if (begun === '' && /^\.\w*$/.test(before)) return [COMMANDS.filter(name => name.startsWith(before)), before]
      names ??= queryWarehouse(access, { sql: LIST_NAMES, timeoutMs: limits.timeoutMs }).then(result =>
        readNames(result).finally(result.close),
      )
      const start = before.replace(/^\.schema/, 'DESCRIBE')
      return complete(begun + start, begun + lines.line, await names.catch(() => []))
    },
  })

  const prompt = () => {
    lines.setPrompt(begun === '' ? PROMPT : CONTINUED)
    lines.prompt()
  }

  const interrupt = () => {
    if (running) return running.abort()
    for (const name of ['e', 'u']) lines.write(null, { ctrl: true, name })
    print('^C')
    begun = ''
    prompt()
  }

  async function remember(line: string | null): Promise<void> {
    if (line === null || line === history[0]) return
    history.unshift(line)
    // Statements may contain personal data. A data folder that cannot be written to costs only the history.
    if (historyFile !== null) await appendFile(historyFile, `${line}\n`, { mode: 0o600 }).catch(() => {})
  }

  /** Runs a pager while nothing else reads the terminal. */
  async function beside(pager: () => Promise<void>): Promise<void> {
    lines.pause()
    process.stdin.setRawMode(false)
    await pager().finally(() => process.stdin.setRawMode(true))
    lines.resume()
  }

  async function show(sql: string): Promise<void> {
    running = new AbortController()
    const startedMs = performance.now()
    let firstRowsMs = startedMs
    const onFirstRows = () => {
      firstRowsMs = performance.now()
    }
    try {
      const result = await queryWarehouse(access, { ...limits, sql, signal: running.signal })
      await showResult(result, { mode, onFirstRows, beside }).finally(result.close)
      if (isTimed) print(`Time: ${count(firstRowsMs - startedMs)} ms until the first rows`)
    } catch (error) {
      log(...errorLines(withHint(error), styleOf(process.stderr)))
    } finally {
      running = null
    }
  }

  async function command(line: string): Promise<void> {
    const [name, argument = ''] = line.split(/\s+(.*)/)
    const given = MODES.find(one => one === argument)
    if (name === '.tables') await show(LIST_TABLES)
    else if (name === '.schema' && argument !== '')
      await show(`SELECT column_name AS "column", column_type AS "type" FROM (DESCRIBE ${argument})`)
    else if (name === '.timing' && /^(on|off)$/.test(argument)) isTimed = argument === 'on'
    else if (name === '.mode' && given) mode = given
    else print(...(name === '.help' ? [HELP] : [`Unknown command: ${line}`, HELP]))
  }

  async function take(line: string): Promise<void> {
    if (begun === '' && line.startsWith('.')) {
      await remember(line)
      return command(line.replace(/[\s;]+$/, ''))
    }
    const { statements, rest } = splitStatements(`${begun}${line}\n`)
    begun = rest
    for (const statement of statements) {
      await remember(onOneLine(statement))
      await show(statement)
    }
  }

  // While a pager runs, Ctrl-C arrives as a signal, else as a key.
  const release = listenInstead('SIGINT', interrupt)
  lines.on('SIGINT', interrupt).on('close', () => running?.abort())
  // Statements replace their lines in readline's own list.
  let recalled: string[] = []
  lines.on('history', list => {
    recalled = list
  })
  print('Statements end with ; and .help lists commands.')
  prompt()
  for await (const line of lines) {
    if (/^\.(quit|exit)\b/.test(line)) break
    await take(line)
    recalled.splice(0, recalled.length, ...history)
    prompt()
  }
  lines.close()
  release()
}
