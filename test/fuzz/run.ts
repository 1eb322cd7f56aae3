// Runs cases in child processes and reports those that end their process.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Crash {
  number: number
  sql: string
  /** End of the process: signal or exit code; `stuck` or `memory` if this program killed it. */
  how: string
}

export interface FuzzReport {
  cases: number
  outcomes: Record<string, number>
  crashes: Crash[]
}

/** The path of the compiled child, from `test/` or from `dist/test/`. */
const CHILD = fileURLToPath(
  new URL(import.meta.url.endsWith('.js') ? './child.js' : '../../dist/test/fuzz/child.js', import.meta.url),
)

const STUCK_MS = 30_000
const CHECK_EVERY_MS = 250
const MAX_BYTES = 2_500_000_000

/** Returns the resident memory of a process; 0 except on Linux, so that memory is limited only there. */
function bytesOf(pid: number): number {
  try {
    return Number(/VmRSS:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

/** A line of the child: a case before it runs, its outcome, or the end. */
interface Line {
  number: number
  sql?: string
  outcome?: string
  done?: boolean
}

/** Runs cases until `to`, the deadline or a crash; returns the number of the next case, or null at the end. */
function runChild(
  options: { seed: number; from: number; to: number; untilMs: number },
  report: FuzzReport,
): Promise<number | null> {
  const { seed, from, to, untilMs } = options
  return new Promise(resolve => {
    const env = { PATH: process.env.PATH, UV_THREADPOOL_SIZE: '16' }
    const child = spawn(process.execPath, [CHILD, ...[seed, from, to, untilMs].map(String)], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let [last, done, killReason, lastLineMs] = [{ number: from - 1, sql: '' }, false, '', Date.now()]
    createInterface({ input: child.stdout }).on('line', line => {
      const { number, sql, outcome, done: isDone } = JSON.parse(line) as Line
      lastLineMs = Date.now()
      done = isDone === true
      if (sql !== undefined) last = { number, sql }
      if (outcome !== undefined) {
        report.cases += 1
        const kind = outcome.split(' ')[0]!
        report.outcomes[kind] = (report.outcomes[kind] ?? 0) + 1
      }
    })
    const watch = setInterval(() => {
      if (Date.now() - lastLineMs > STUCK_MS) killReason = 'stuck'
      if (bytesOf(child.pid!) > MAX_BYTES) killReason = 'memory'
      if (killReason) child.kill('SIGKILL')
    }, CHECK_EVERY_MS)
    child.once('close', (code, signal) => {
      clearInterval(watch)
      if (!done) report.crashes.push({ ...last, how: killReason || signal || `exit ${code}` })
      resolve(done ? null : last.number + 1)
    })
  })
}

/** Runs cases from number `from` on, until `to` or the deadline. */
export async function fuzz(options: {
  seed: number
  from?: number
  to?: number
  seconds: number
}): Promise<FuzzReport> {
  const { seed, from = 0, to = Number.MAX_SAFE_INTEGER, seconds } = options
  const report: FuzzReport = { cases: 0, outcomes: {}, crashes: [] }
  const untilMs = Date.now() + seconds * 1_000
  let next: number | null = from
  while (next !== null && next < to && Date.now() < untilMs)
    next = await runChild({ seed, from: next, to, untilMs }, report)
  return report
}
