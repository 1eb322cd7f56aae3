// The processes that read the published snapshot: one for declared queries, one at a lower priority for the SQL of callers, and a
// short-lived one for each answer as a Parquet file.
import { mkdir, readdir, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { MINUTE, SECOND } from '../../core/time.ts'
import { hasEnded } from '../../files/ended-process.ts'
import { openQueryQueue } from '../../warehouse/query/concurrency.ts'
import type { ErrorBody } from '../../warehouse/query/formats/cells.ts'
import { errorAnswer, errorFrom, formatOf, QUERY_PATH } from '../../warehouse/query/http/protocol.ts'
import { ABOUT_THE_SQL, queryError } from '../../warehouse/query/query-error.ts'
import { AnswerCache } from './answer-cache.ts'
import { openCallerQueues } from './caller-queues.ts'
import { ROWS_PATH, type SnapshotState } from './query-port.ts'
import { broken, type ProcessSettings, startReader } from './reader-process.ts'
import { followSnapshot, type Lease } from './snapshot-follower.ts'

export type { SnapshotState }

/** Runs a declared query. Integers and decimals of its rows are numbers, times ISO-8601 texts. Callers must not change the rows. */
export type DeclaredQuery = <R>(sql: string) => Promise<{ rows: R[] } & SnapshotState>

export interface UserQuery {
  sql: string
  /** Values for the parameters of the SQL: a list for `?` and `$1`, an object for `$name`. */
  params?: unknown
  accept: string
  maxRows: number
  timeoutMs: number
  /** False if the SQL sees only columns without personal data. */
  withContent: boolean
  signal: AbortSignal
  /** Name of the token. A caller may use half of the slots; null is not bounded. */
  caller: string | null
}

export interface QueryAnswer {
  status: number
  headers: Record<string, string>
  /** Breaks off with an error if the query does. Trailers of a response count the rows (`ROWS_HEADER`), once it has ended. */
  body: Readable & Partial<Pick<IncomingMessage, 'trailers'>>
}

export interface SnapshotReaders {
  /** State of the file that declared queries read. */
  state(): SnapshotState
  /** Runs a declared query on the newest state; answers are cached. @throws QUERY_TIMEOUT, SQL_INVALID, … */
  rows: DeclaredQuery
  /** Runs `work` with queries that all read one state, even if the file is replaced meanwhile. */
  reading<T>(work: (rows: DeclaredQuery, state: SnapshotState) => Promise<T>): Promise<T>
  /** Answers the SQL of a caller. Errors are answers, too. */
  query(query: UserQuery): Promise<QueryAnswer>
  close(): Promise<void>
}

export interface ReadersOptions extends ProcessSettings {
  /** Called when a newer file cannot be opened, or a process does not start. */
  onProblem?(error: unknown): void
  /** Interval of the looks whether the file was replaced. */
  lookEveryMs?: number
}

/** Removes the folders of killed processes, since spilled rows are personal data. A container gives its next process the same id. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number.parseInt(name, 10)
    if (pid === process.pid || hasEnded(pid)) await rm(join(folder, name), { recursive: true, force: true })
  }
}

/** @throws TARGET_UNUSABLE if the snapshot cannot be opened */
export async function openSnapshotReaders(options: ReadersOptions): Promise<SnapshotReaders> {
  const { onProblem = () => {}, lookEveryMs = SECOND, ...settings } = options
  await mkdir(settings.folder, { recursive: true, mode: 0o700 })
  await removeAbandoned(settings.folder)
  const follow = (role: 'declared' | 'adhoc') =>
    followSnapshot({ file: settings.file, start: () => startReader(role, settings), onProblem, lookEveryMs })
  const declared = await follow('declared')
  const adhoc = await follow('adhoc').catch(async error => {
    await declared.close()
    throw error
  })
  const cache = new AnswerCache<unknown[]>()
  // Each running one is a process.
  const files = openQueryQueue({ running: 2, waiting: 16, by: '`serve`' })
  const by = 'For one token, `serve`'
  const queriesOf = openCallerQueues({ running: 2, waiting: 64, by })
  const filesOf = openCallerQueues({ running: 1, waiting: 16, by })

  const rowsIn =
    ({ process }: Lease): DeclaredQuery =>
    async <R>(sql: string) => {
      const { state } = process
      const question = { sql, timeoutMs: MINUTE }
      const ask = () => declaredAnswer(process.post(ROWS_PATH, question, { accept: 'application/json' }))
      return { rows: (await cache.get(`${state.version} ${sql}`, ask)) as R[], ...state }
    }

  async function reading<T>(work: (rows: DeclaredQuery, state: SnapshotState) => Promise<T>): Promise<T> {
    const lease = await declared.lease()
    try {
      return await work(rowsIn(lease), lease.process.state)
    } finally {
      lease.release()
    }
  }

  /** Starts the process of one answer, in a slot. */
  async function fileLease(signal: AbortSignal): Promise<Lease> {
    const leave = await files.acquire(30 * SECOND, signal)
    const process = await startReader('file', settings).catch(error => {
      leave()
      throw error
    })
    return { process, release: () => void process.close().finally(leave) }
  }

  return {
    state: declared.state,
    rows: sql => reading(rows => rows(sql)),
    reading,
    async query({ accept, signal, caller, ...asked }) {
      const beganMs = performance.now()
      let leave = () => {}
      try {
        const isFile = formatOf(accept) === 'parquet'
        const acquire = isFile ? filesOf : queriesOf
        if (caller !== null) leave = await acquire(caller, Math.min(asked.timeoutMs, 30 * SECOND), signal)
        const { process, release } = await (isFile ? fileLease(signal) : adhoc.lease(signal))
        const timeoutMs = Math.max(1, asked.timeoutMs - (performance.now() - beganMs))
        const answer = await answerFrom({ process, release }, { accept, signal, body: { ...asked, timeoutMs } })
        answer.body.once('close', leave)
        return answer
      } catch (error) {
        leave()
        const { status, headers, body } = errorAnswer(queryError(error))
        return { status, headers, body: Readable.from([`${JSON.stringify(body)}\n`]) }
      }
    },
    async close() {
      await Promise.all([declared.close(), adhoc.close()])
    },
  }
}

/** Returns the error to show: DuckDB's message about SQL of the user's metrics may quote a name or a text, which a token may not see. */
const withoutValues = (error: ConvohouseError): ConvohouseError =>
  isCode(error, 'SQL_INVALID') && !ABOUT_THE_SQL.test(error.message)
    ? new ConvohouseError('METRIC_INVALID', {
        what: 'The SQL of a metric fails on values of the snapshot.',
        hint: '`convohouse check` names the metric.',
      })
    : error

async function declaredAnswer(response: Promise<IncomingMessage>): Promise<{ answer: unknown[]; bytes: number }> {
  const answer = await response
  const body = await text(answer).catch(() => Promise.reject(broken()))
  if (answer.statusCode !== 200) throw withoutValues(errorFrom((JSON.parse(body) as { error: ErrorBody }).error))
  // Objects take some five times the memory of their text.
  return { answer: JSON.parse(body) as unknown[], bytes: 5 * body.length }
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Says why a column may be unknown. */
function withHint(body: string): string {
  const { error } = JSON.parse(body) as { error: ErrorBody }
  const hint = 'Without the scope `content`, SQL sees only the columns that GET /v1/tables (describe_table) lists.'
  return `${JSON.stringify({ error: { hint, ...error } })}\n`
}

async function answerFrom(
  { process, release }: Lease,
  { accept, signal, body }: { accept: string; signal: AbortSignal; body: Pick<UserQuery, 'timeoutMs' | 'withContent'> },
): Promise<QueryAnswer> {
  const response = await process.post(QUERY_PATH, body, { accept, signal }).catch(error => {
    release()
    throw error
  })
  response.once('close', release)
  const isHidden = response.statusCode === 400 && body.withContent === false
  if (isHidden) return { status: 400, headers: JSON_TYPE, body: Readable.from([withHint(await text(response))]) }
  const headers: Record<string, string> = { 'convohouse-as-of': process.state.asOf }
  for (const name of ['content-type', 'content-length', 'retry-after'])
    if (response.headers[name] !== undefined) headers[name] = String(response.headers[name])
  return { status: response.statusCode!, headers, body: response }
}
