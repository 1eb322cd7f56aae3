// A process that reads one snapshot file, and answers queries on a Unix socket that only its parent knows. It ends with its parent;
// SIGKILL is safe at any moment.
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import type { ConvohouseError } from '../../core/errors.ts'
import { Slots } from '../../core/slots.ts'
import { SECOND } from '../../core/time.ts'
import { restrictUmask } from '../../files/durable.ts'
import { readStoredWatermark, WATERMARK_TABLE } from '../../publish/watermark.ts'
import { statementsOn } from '../../warehouse/connection.ts'
import { openQueryQueue } from '../../warehouse/query/concurrency.ts'
import { type QueryObserver, type Questions, queryHandler } from '../../warehouse/query/http/handler.ts'
import { unguardedRows } from '../../warehouse/query/rows.ts'
import { type OpenSnapshot, openSnapshot } from '../../warehouse/query/snapshot.ts'
import { type FromQueryProcess, type OpenQueryProcess, ROWS_PATH, type SnapshotState } from './query-port.ts'

const send = (message: FromQueryProcess): void => void process.send!(message)

/** Time that DuckDB has to end a query after its timeout. */
const AFTER_TIMEOUT_MS = 2 * SECOND

const timers = new Map<number, NodeJS.Timeout>()

/** Has the parent end this process if a query runs on. `process.exit` would wait for the query. */
const watchOverdue: QueryObserver = (id, sql, timeoutMs) => {
  clearTimeout(timers.get(id))
  timers.delete(id)
  if (sql !== null) timers.set(id, setTimeout(send, timeoutMs + AFTER_TIMEOUT_MS, { kind: 'overdue' }))
}

async function stateOf(snapshot: OpenSnapshot): Promise<SnapshotState> {
  const stored = await readStoredWatermark(statementsOn(await snapshot.connect()), WATERMARK_TABLE)
  const { asOf, epoch, seq, publicationId } = stored!
  // A refill under another policy has other values at the same sequence.
  return { asOf, version: `${epoch}.${seq}.${publicationId.slice(0, 8)}` }
}

const slots = new Slots(Math.max(2, availableParallelism()))

const questionsOf = (snapshot: OpenSnapshot): Questions => {
  const rowsOf = async ({ sql, timeoutMs }: { sql: string; timeoutMs: number }, signal: AbortSignal) => {
    const connection = await snapshot.connect()
    return unguardedRows(connection, { timeoutMs, signal })(sql).finally(() => connection.closeSync())
  }
  const answer = (question: unknown, signal: AbortSignal) => slots.run(() => rowsOf(question as never, signal), signal)
  return new Map([[ROWS_PATH, answer]])
}

async function open({ role, socket, ...settings }: OpenQueryProcess): Promise<SnapshotState> {
  const snapshot = await openSnapshot(settings)
  const handle = queryHandler({
    connect: body => (body.withContent === true ? snapshot.all() : snapshot.plain()),
    scratch: settings.scratch ?? settings.spillFolder,
    queue: openQueryQueue({ running: 4, waiting: 64, by: '`serve`' }),
    onQuery: watchOverdue,
    questions: role === 'declared' ? questionsOf(snapshot) : new Map(),
    closing: new AbortController().signal,
  })
  const server = createServer((request, response) => void handle(request, response))
  // Its only client would else send requests into connections that are being closed.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve))
  return stateOf(snapshot)
}

restrictUmask()
// A terminal sends its signals to the parent, too.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
if (process.platform !== 'linux') setInterval(() => send({ kind: 'memory', bytes: process.memoryUsage.rss() }), 100)
process.once('message', (message: OpenQueryProcess) => {
  process.once('disconnect', () => {
    // A parent that was killed has left its files.
    for (const path of [message.socket, message.spillFolder]) rmSync(dirname(path), { recursive: true, force: true })
    process.kill(process.pid, 'SIGKILL')
  })
  open(message).then(
    state => send({ kind: 'opened', state }),
    ({ code = 'TARGET_UNUSABLE', message: what, hint }: ConvohouseError) => send({ kind: 'failed', code, what, hint }),
  )
})
