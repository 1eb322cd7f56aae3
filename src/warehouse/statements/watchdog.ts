// Watches the owner's statements while they run. DuckDB checks for interrupts only between vectors, and does not count all memory, so one
// value (`range(600000000)`) can pass every limit. Then only the end of the process helps, which loses nothing but requests in flight.
//
//   running ──memory passed──▶ stopped ──0.5 s──▶ the process ends, the statement is held
//      └─────────timeout─────────┴──────5 s after the timeout──▶ likewise
import { ConvohouseError } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import { bytes, sizeOf } from '../../core/words.ts'
import { admit, holdStatements, limitText, type Statement, shownName } from './held.ts'

/** Memory of the process besides what DuckDB counts: pages in flight, JavaScript, allocations of DuckDB's functions. */
const BESIDE_BYTES = 2 ** 30

const LOOK_EVERY_MS = 100
/** Time that a statement has to end after its timeout, or after it was stopped for memory. */
const AFTER_TIMEOUT_MS = 5 * SECOND
const AFTER_STOP_MS = SECOND / 2

interface Warehouse {
  home: string
  /** DuckDB's limit, such as `640MB`. */
  memoryLimit: string
}

interface Running {
  statement: Statement
  limit: 'memory' | 'time'
  /** An allocator may keep the memory of an earlier statement, so this counts from the memory at the start, if that was more. */
  mostBytes: number
  /** When the statement is to end, ms. */
  untilMs: number
  /**
   * Looks since it was stopped. Counted, since a process that was paused (SIGSTOP, a frozen container) would otherwise find its
   * statement overdue before DuckDB has noticed the interrupt.
   */
  looksAfter: number
  stop(reason: ConvohouseError): void
}

/** Process-wide, like the memory that it watches. Null in processes that nothing may end, such as those of tests. */
let endProcess: ((error: ConvohouseError) => void) | null = null
let warehouse: Warehouse | null = null
let timer: NodeJS.Timeout | undefined
const running = new Set<Running>()

/** Lets statements be watched from now on. `end` ends the process, within a second. */
export function installWatchdog(end: NonNullable<typeof endProcess>): void {
  endProcess = end
}

/** Names the warehouse that this process has opened. */
export function watchStatementsOf(opened: Warehouse): void {
  warehouse = opened
}

/** True while a watched statement runs: closing its connection would wait for it. */
export const statementsRun = (): boolean => running.size > 0

const passedMemory = ({ memoryLimit }: Warehouse): ConvohouseError =>
  new ConvohouseError('QUERY_MEMORY', {
    what: `The process has ${bytes(process.memoryUsage.rss())} of memory, far above DuckDB's limit (${memoryLimit}), while SQL of the owner runs.`,
    hint: 'Query fewer rows, or smaller values: DuckDB does not count memory inside one value.',
  })

const isOverdue = ({ limit, untilMs }: Running): boolean => limit === 'memory' || performance.now() > untilMs

/** Holds the running statements that have passed a limit: the process is about to end. */
export function holdOverdue(overdue: readonly Running[] = [...running].filter(isOverdue)): void {
  if (overdue.length === 0) return
  const { limit } = overdue[0]!
  const statements = overdue.map(({ statement }) => statement)
  try {
    holdStatements(warehouse!.home, statements, { limit, memoryLimit: warehouse!.memoryLimit })
  } catch {
    // On a full disk the statement is not held.
  }
}

function end(overdue: readonly Running[], of: Warehouse): void {
  clearInterval(timer)
  holdOverdue(overdue)
  const { limit, statement } = overdue[0]!
  const passed = limitText({ ...statement, limit, memoryLimit: of.memoryLimit })
  endProcess!(
    new ConvohouseError(limit === 'memory' ? 'QUERY_MEMORY' : 'QUERY_TIMEOUT', {
      what: `The ${statement.kind} passed ${passed} and could not be interrupted, so this process ends: ${shownName(statement)}`,
      hint: 'Nothing is lost but requests in flight. `convohouse status` shows what is held.',
    }),
  )
}

function look(of: Warehouse): void {
  const rss = process.memoryUsage.rss()
  const overdue: Running[] = []
  for (const one of running) {
    if (rss > one.mostBytes && one.limit !== 'memory') {
      one.limit = 'memory'
      one.looksAfter = 0
      one.stop(passedMemory(of))
    } else if (isOverdue(one)) one.looksAfter += 1
    const afterMs = one.limit === 'memory' ? AFTER_STOP_MS : AFTER_TIMEOUT_MS
    if (one.looksAfter * LOOK_EVERY_MS > afterMs) overdue.push(one)
  }
  if (overdue.length > 0) end(overdue, of)
}

/**
 * Watches a statement until the returned function is called, which must not be before DuckDB has returned. `stop` tells
 * its client the reason, and interrupts it. @throws QUERY_HELD if the statement has ended a process before
 */
export function watchStatement(statement: Statement, stop: Running['stop']): () => void {
  if (endProcess === null || warehouse === null) return () => {}
  const of = warehouse
  admit(of.home, statement, of.memoryLimit)
  const untilMs = performance.now() + statement.timeoutMs
  const mostBytes = Math.max(1.25 * sizeOf(of.memoryLimit), process.memoryUsage.rss()) + BESIDE_BYTES
  const one: Running = { statement, limit: 'time', mostBytes, untilMs, looksAfter: 0, stop }
  running.add(one)
  if (running.size === 1) timer = setInterval(look, LOOK_EVERY_MS, of)
  return () => {
    running.delete(one)
    if (running.size === 0) clearInterval(timer)
  }
}
