// Memory of a sync, and whether it depends on the amount of data: peak resident set of `convohouse sync` for a number of conversations and
// for a tenth of it. Records have the sandbox's size (7 KB); the sandbox is a separate process without limits. The peak is the kernel's
// VmHWM, so this runs only on Linux.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type BenchOptions, rounded } from './measure.ts'

const cli = fileURLToPath(new URL('../../src/cli/convohouse.cjs', import.meta.url))

const CHECK_EVERY_MS = 500
const PRINT_EVERY_CHECKS = 60

const MIB = 2 ** 20

/** Peak resident set so far, bytes; 0 after the process has ended. */
async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1_024
}

async function startSandbox(conversations: number, agents: number): Promise<{ child: ChildProcess; url: string }> {
  const flags = [
    '--port',
    '0',
    '--no-limits',
    '--json',
    '--conversations',
    String(conversations),
    '--agents',
    String(agents),
  ]
  const child = spawn(process.execPath, [cli, 'sandbox', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string]
  return { child, url: (JSON.parse(line) as { url: string }).url }
}

interface Synced {
  peakBytes: number
  conversations: number
}

/** Runs a complete sync into an empty data folder. */
async function syncOnce(conversations: number, { agents }: BenchOptions): Promise<Synced> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  const { child: sandbox, url } = await startSandbox(conversations, agents)
  const env = {
    ...process.env,
    CONVOHOUSE_API_URL: url,
    CONVOHOUSE_API_TOKEN: 'sandbox-token',
    CONVOHOUSE_WORKSPACE: 'ws_demo',
    CONVOHOUSE_HOME: home,
  }
  const sync = spawn(process.execPath, [cli, 'sync', '--yes', '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let last = ''
  createInterface(sync.stdout).on('line', line => {
    last = line
  })
  const closed = once(sync, 'close')
  try {
    let peakBytes = 0
    for (let checks = 1; sync.exitCode === null && sync.signalCode === null; checks++) {
      peakBytes = Math.max(peakBytes, await peakOf(sync.pid!))
      if (checks % PRINT_EVERY_CHECKS === 0)
        console.error(`${conversations.toLocaleString('en')}: ${rounded(peakBytes / MIB, 0)} MB`)
      await sleep(CHECK_EVERY_MS)
    }
    await closed
    const report = JSON.parse(last) as { outcome?: string; conversations?: number }
    if (sync.exitCode !== 0 || report.outcome !== 'done') throw new Error(`sync ended with ${sync.exitCode}: ${last}`)
    return { peakBytes, conversations: report.conversations ?? 0 }
  } finally {
    sync.kill('SIGKILL')
    sandbox.kill('SIGTERM')
    await once(sandbox, 'exit')
    await rm(home, { recursive: true, force: true })
  }
}

export async function memoryBench(options: BenchOptions): Promise<Record<string, number>> {
  const few = await syncOnce(Math.round(options.rows / 10), options)
  const many = await syncOnce(options.rows, options)
  if (many.conversations < 5 * few.conversations) throw new Error('the larger sync did not read more')
  return {
    peakRatio: rounded(many.peakBytes / few.peakBytes),
    peakMb: rounded(many.peakBytes / MIB, 0),
    peakMbOfATenth: rounded(few.peakBytes / MIB, 0),
    conversations: many.conversations,
  }
}
