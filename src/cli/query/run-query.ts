// `convohouse query`: one SELECT, in the format that its taker reads.
import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { bytes, counted } from '../../core/words.ts'
import { invalidFlag } from '../flags/values.ts'
import { chooseFormat, type Format } from '../output/format.ts'
import { writeResult } from '../output/write.ts'
import { log } from '../terminal/print.ts'
import { stopOnSignals } from '../terminal/signals.ts'
import { withHint } from './hints.ts'
import { formatOfFile, placeOf, writeToFile } from './output-file.ts'
import { readSql } from './sql-source.ts'
import { storageOf } from './storage.ts'
import { queryWarehouse, queryWarehouseToParquet, type WarehouseQuery } from './warehouse-client.ts'

export interface QueryFlags {
  config?: string
  file?: string
  format?: Format
  output?: string
  /** ms */
  timeout: number
  maxRows?: number
}

/** The format that is named, else the one that the file's ending or the terminal asks for. */
function formatOf({ format, output }: QueryFlags): Format {
  if (output === undefined) return chooseFormat(format, process.stdout)
  return format ?? formatOfFile(output)
}

const MORE = 'There are more rows: --max-rows cut the answer.'

async function answerRows(
  question: WarehouseQuery,
  format: Exclude<Format, 'parquet'>,
  flags: QueryFlags,
): Promise<void> {
  const { maxRows, output } = flags
  const place = output === undefined ? undefined : await placeOf(output)
  const layout = format === 'arrow' ? 'columns' : 'rows'
  const result = await queryWarehouse({ ...question, layout, ...(maxRows !== undefined && { maxRows }) })
  if (place === undefined) {
    const { truncated } = await writeResult({ result, format, to: process.stdout })
    if (truncated && format !== 'table') log(MORE)
    return
  }
  const { rows, truncated } = await writeToFile(result, format, place)
  log(`${counted(rows, 'row')} in ${output}`, ...(truncated ? [MORE] : []))
}

async function answerParquet(question: WarehouseQuery, { output, maxRows }: QueryFlags): Promise<void> {
  if (maxRows !== undefined)
    throw invalidFlag('--max-rows does not go with parquet.', 'Write LIMIT in the SQL instead.')
  if (output !== undefined) {
    const written = await queryWarehouseToParquet({ ...question, file: await placeOf(output) })
    log(`${counted(written.rows, 'row')}, ${bytes(written.bytes)} in ${output}`)
    return
  }
  // Parquet is not a stream: its index comes last, so it is whole before its first byte goes out.
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-'))
  try {
    const file = join(folder, 'answer.parquet')
    await queryWarehouseToParquet({ ...question, file })
    await pipeline(createReadStream(file), process.stdout, { end: false })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @throws FLAG_INVALID, WAREHOUSE_MISSING, WAREHOUSE_LOCKED, SQL_REFUSED, SQL_INVALID, QUERY_TIMEOUT, INTERRUPTED */
export async function runQueryCommand(argument: string | undefined, flags: QueryFlags): Promise<void> {
  const format = formatOf(flags)
  const sql = await readSql(argument, flags.file)
  const stop = stopOnSignals()
  const question: WarehouseQuery = {
    storage: storageOf(flags.config),
    sql,
    timeoutMs: flags.timeout,
    signal: stop.stopping,
  }
  try {
    await (format === 'parquet' ? answerParquet(question, flags) : answerRows(question, format, flags))
  } catch (error) {
    throw withHint(error)
  } finally {
    stop.release()
  }
}
