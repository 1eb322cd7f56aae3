// `convohouse query`: runs one SELECT and prints its result in the requested format.

import { createReadStream } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import { DAY, SECOND } from '../../core/time.ts'
import { bytes, counted } from '../../core/words.ts'
import {
  type ClientQuery,
  queryWarehouse,
  queryWarehouseToParquet,
  type WarehouseAccess,
} from '../../warehouse/query/warehouse-client.ts'
import { storageOf } from '../flags/configuration.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { duration, filled, invalidFlag, newPath, oneOf, whole } from '../flags/values.ts'
import {
  chooseFormat,
  FORMATS,
  type Format,
  formatOfFile,
  type RowFormat,
  resolveOutput,
  writeResult,
  writeToFile,
} from '../output/write.ts'
import { log } from '../terminal/print.ts'
import { stopOnSignals } from '../terminal/signals.ts'
import { isTerminal } from '../terminal/style.ts'
import { withHint } from './sql-hints.ts'

/** Node's timers fire at once if their delay exceeds 2^31 ms (24.8 days). */
const LONGEST_TIMEOUT_MS = 24 * DAY

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .argument(
      '[sql]',
      'one SELECT (or WITH, FROM, DESCRIBE, SHOW TABLES); without it, a shell on a terminal, else SQL from standard input, as with -',
    )
    .option('-f, --file <file>', 'read the SQL from a file', filled('--file'))
    .option(
      '--format <format>',
      `${FORMATS.join(', ')} (default: a table on a terminal, else csv)`,
      oneOf('--format', FORMATS),
    )
    .option('-o, --output <file>', 'write to a file; its extension selects the format', newPath('--output'))
    .option(
      '--excel',
      'CSV for Excel: with a byte order mark, and texts that begin with =, +, - or @ after an apostrophe',
    )
    .addOption(
      new Option('--timeout <duration>', 'stop after this time')
        .argParser(duration('--timeout', { min: SECOND / 10, max: LONGEST_TIMEOUT_MS }))
        .default(60 * SECOND, '60s'),
    )
    .option('--max-rows <n>', 'return at most this many rows', whole('--max-rows', 1))
    .option('--no-history', 'in the shell, neither read nor keep the history')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse query                                    a shell: history, completion with Tab, .help lists its commands
  $ convohouse query "SHOW TABLES"                      tables and views; SHOW TABLES FROM marts lists the marts
  $ convohouse query "FROM marts.conversations_daily"
  $ convohouse query "SELECT channel, count(*) AS n FROM conversations GROUP BY ALL ORDER BY n DESC"
  $ convohouse query "FROM conversations" -o conversations.parquet
  $ convohouse query "FROM marts.conversations_daily" -o days.arrow
  $ convohouse query --file report.sql --format csv > report.csv
  $ convohouse query "FROM marts.tags_daily" --excel -o tags.csv
  $ echo "SELECT 42 AS answer" | convohouse query --format json

Stored times have the type TIMESTAMPTZ: they are UTC and end in Z. The shell keeps its history in the file query-history of the data folder,
which only you can read. Answers that are taller than the terminal are shown with PAGER, else less; an empty PAGER switches that off.`,
    )
    .action(async (sql: string | undefined, flags: QueryFlags) => {
      await runQueryCommand(sql, flags)
    })

export interface QueryFlags {
  config?: string
  file?: string
  format?: Format
  output?: string
  excel?: boolean
  /** ms */
  timeout: number
  maxRows?: number
  history: boolean
}

/** True if the command is started on a terminal without SQL, so that its user writes statements. */
const isInteractive = (argument: string | undefined, { file, output, excel }: QueryFlags): boolean =>
  [argument, file, output, excel].every(one => one === undefined) &&
  isTerminal(process.stdin) &&
  isTerminal(process.stdout)

/** @throws FLAG_INVALID, WAREHOUSE_MISSING, WAREHOUSE_LOCKED, TOO_MANY_QUERIES, SQL_REFUSED, SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED */
async function runQueryCommand(argument: string | undefined, flags: QueryFlags): Promise<void> {
  const format = formatOf(flags)
  if (isInteractive(argument, flags)) return startShell(format as RowFormat, flags)
  const sql = await readSql(argument, flags.file)
  const stop = stopOnSignals()
  const query: ClientQuery = { sql, timeoutMs: flags.timeout, signal: stop.stopping }
  const access = storageOf(flags.config)
  try {
    await (format === 'parquet' ? writeParquet(access, query, flags) : writeRows({ access, query, format, flags }))
  } catch (error) {
    throw withHint(error)
  } finally {
    stop.release()
  }
}

/** Starts the shell. On a terminal, the format is never Parquet. */
async function startShell(
  mode: RowFormat,
  { config, timeout: timeoutMs, maxRows, history }: QueryFlags,
): Promise<void> {
  const { runShell } = await import('./shell.ts')
  const access = storageOf(config)
  const historyFile = history ? join(access.home, 'query-history') : null
  await runShell({ access, mode, historyFile, limits: { timeoutMs, ...(maxRows !== undefined && { maxRows }) } })
}

/** Returns the requested format, else that of the file's extension, else the default for standard output. */
function formatOf({ format, output, excel }: QueryFlags): Format | 'csv-excel' {
  const given = format ?? (output === undefined ? undefined : formatOfFile(output))
  if (excel && (given ?? 'csv') !== 'csv')
    throw invalidFlag(
      `--excel is for CSV, and the format is ${given}.`,
      'Omit one of the two, or choose the format csv.',
    )
  if (excel) return 'csv-excel'
  return output === undefined ? chooseFormat(given, process.stdout) : given!
}

/** Reads the SQL from the argument, a file or standard input. @throws FLAG_INVALID without SQL, with two, or an unreadable file */
async function readSql(argument: string | undefined, file: string | undefined): Promise<string> {
  if (argument !== undefined && file !== undefined)
    throw invalidFlag('SQL is given twice, as an argument and with --file.', 'Omit one of the two.')
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
    throw invalidFlag('No SQL is given.', 'Give it as an argument, with --file, or on standard input.')
  return text(process.stdin)
}

/** Results may contain personal data. */
const OWN_FILE = process.platform === 'win32' ? '' : ', which only you can read (mode 0600)'

const TRUNCATED = 'There are more rows than --max-rows.'

async function writeRows({
  access,
  query,
  format,
  flags,
}: {
  access: WarehouseAccess
  query: ClientQuery
  format: RowFormat
  flags: QueryFlags
}): Promise<void> {
  const { maxRows, output } = flags
  const path = output === undefined ? undefined : await resolveOutput(output)
  const result = await queryWarehouse(access, { ...query, ...(maxRows !== undefined && { maxRows }) })
  if (path === undefined) {
    const { truncated } = await writeResult({ result, format, to: process.stdout })
    if (truncated && format !== 'table') log(TRUNCATED)
    return
  }
  const { rows, truncated } = await writeToFile(result, format, path)
  log(`${counted(rows, 'row')} in ${output}${OWN_FILE}`, ...(truncated ? [TRUNCATED] : []))
}

async function writeParquet(
  access: WarehouseAccess,
  query: ClientQuery,
  { output, maxRows }: QueryFlags,
): Promise<void> {
  if (maxRows !== undefined)
    throw invalidFlag('--max-rows cannot be used with parquet.', 'Write LIMIT in the SQL instead.')
  if (output !== undefined) {
    const written = await queryWarehouseToParquet(access, { ...query, file: await resolveOutput(output) })
    log(`${counted(written.rows, 'row')}, ${bytes(written.bytes)} in ${output}${OWN_FILE}`)
    return
  }
  // Parquet is not a stream: its index comes last, so the file is complete before its first byte is printed.
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-'))
  try {
    const file = join(folder, 'answer.parquet')
    await queryWarehouseToParquet(access, { ...query, file })
    await pipeline(createReadStream(file), process.stdout, { end: false })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
