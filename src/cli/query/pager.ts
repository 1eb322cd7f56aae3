// Shows a result on the terminal: as it is if it fits, else in a pager.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { searchPath } from '../../config.ts'
import type { Batch, QueryResult } from '../../warehouse/query/results.ts'
import { records } from '../output/records.ts'
import { formatted, type RowFormat } from '../output/write.ts'
import { answerFor } from '../terminal/controls.ts'

/** `line`: one line per value. */
export type Mode = RowFormat | 'line'

/** Header, rule, last line and prompt. */
const LINES_AROUND = 4

/** Cells per column in a pager, which scrolls sideways. Whole transcripts in one line would make it slow. */
const PAGED_WIDTH = 40

/** Returns PAGER, else `less -S` if it is installed; null if PAGER is empty or `cat`. */
function pagerCommand(): string | null {
  const named = process.env.PAGER
  if (named !== undefined) return /^\s*(cat)?\s*$/.test(named) ? null : named
  return searchPath().some(folder => existsSync(join(folder, 'less'))) ? 'less -S' : null
}

/** Reads batches until they have more than `limit` rows. The returned batches include them. */
async function readAhead(batches: AsyncIterable<Batch>, limit: number) {
  const rest = batches[Symbol.asyncIterator]()
  const read: Batch[] = []
  let rows = 0
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    read.push(next.value)
    rows += next.value.rows
    if (rows > limit) break
  }
  async function* all(): AsyncGenerator<Batch> {
    yield* read
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  }
  return { batches: all(), isTall: rows > limit }
}

interface ShowOptions {
  mode: Mode
  /** Called when the first screen of rows is read. */
  onFirstRows(): void
  /** Runs the pager while nothing else reads the terminal. */
  beside(pager: () => Promise<void>): Promise<void>
}

/** Writes a result to the terminal. A pager that ends early stops the query. @throws as the result's batches */
export async function showResult(given: QueryResult, { mode, onFirstRows, beside }: ShowOptions): Promise<void> {
  const { stdout } = process
  const { columns, tally, close } = given
  const linesPerRow = mode === 'line' ? columns.length + 1 : 1
  const { batches, isTall } = await readAhead(given.batches, (stdout.rows - LINES_AROUND) / linesPerRow)
  onFirstRows()
  const result = { columns, batches, tally, close }
  const pager = isTall ? pagerCommand() : null
  const options =
    pager === null ? { width: stdout.columns, color: stdout.hasColors() } : { width: PAGED_WIDTH * columns.length }
  const pieces = mode === 'line' ? records(result) : formatted(result, mode, options)
  async function* shown() {
    for await (const piece of pieces) yield mode === 'table' ? piece : answerFor(stdout, piece)
  }
  if (pager === null) await pipeline(shown, stdout, { end: false })
  else await beside(() => runPager(pager, shown()))
}

async function runPager(command: string, pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'] })
  const closed = once(child, 'close')
  try {
    await pipeline(Readable.from(pieces), child.stdin!)
  } catch (error) {
    if (!['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    await closed
  }
}
