// Measures what `serve` costs a first sync: the time that the first sync of `convohouse up` takes with `serve` in the configuration (which
// publishes a snapshot and starts the processes that read it) and without, in turns.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startSandbox } from '../../src/sandbox/server.ts'
import { queryHolder } from '../../src/warehouse/query/http/holder-client.ts'
import { CLI, environment, inFolder, WORKSPACE } from './command.ts'
import { type BenchOptions, median, rounded } from './measure.ts'

const TAKEN = `SELECT epoch_ms(min(ended_at) FILTER (success)) - epoch_ms(min(started_at)) FROM _runs`
const LOOK_EVERY_MS = 500

/** Returns the time that the first sync took, ms; null while it runs. */
async function takenMs(home: string): Promise<number | null> {
  const result = await queryHolder({ home, sql: TAKEN, timeoutMs: 5_000 }).catch(() => null)
  if (result === null) return null
  let taken: number | null = null
  for await (const { columns } of result.batches) taken = Number(columns[0]?.[0] ?? 0) || null
  return taken
}

/** Returns the time that the first sync of `up` takes, s. */
async function syncSeconds(home: string, url: string, serve: object | null): Promise<number> {
  const file = join(home, 'convohouse.json')
  // Without Temporal on the PATH, syncs run in the process itself.
  const PATH = join(home, 'bin')
  await mkdir(PATH)
  await symlink(process.execPath, join(PATH, 'node'))
  const workspaces = [{ id: WORKSPACE, apiUrl: url, token: { env: 'CONVOHOUSE_API_TOKEN' } }]
  const data = join(home, 'data')
  await writeFile(file, JSON.stringify({ home: data, workspaces, ...(serve && { serve }) }))
  const { CONVOHOUSE_HOME: _, ...env } = environment({ home: data, url })
  const child = spawn(process.execPath, [CLI, 'up', '--config', file], { env: { ...env, PATH }, stdio: 'ignore' })
  try {
    for (;;) {
      const taken = await takenMs(data)
      if (taken !== null) return taken / 1_000
      if (child.exitCode !== null) throw new Error(`up ended with ${child.exitCode}`)
      await new Promise(done => setTimeout(done, LOOK_EVERY_MS))
    }
  } finally {
    child.kill('SIGINT')
    await once(child, 'exit')
  }
}

export async function upBench({ records, rounds, agents }: BenchOptions): Promise<Record<string, number>> {
  const sandbox = await startSandbox({
    ...{ port: 0, conversations: records, agents, hourlyRequests: 1_000_000, quotaSessions: 1_000_000_000 },
  })
  const served: number[] = []
  const alone: number[] = []
  const measured = async (into: number[], serve: object | null) =>
    inFolder(async home => void into.push(await syncSeconds(home, sandbox.url, serve)))
  try {
    for (let round = 1; round <= rounds; round++) {
      // In turns: what the machine does besides slows both.
      const pair = [() => measured(alone, null), () => measured(served, { address: '127.0.0.1:0' })]
      for (const run of round % 2 === 0 ? pair.reverse() : pair) await run()
      console.log(`round ${round}: ${rounded(alone.at(-1)!)} s, with serve ${rounded(served.at(-1)!)} s`)
    }
    const ratios = served.map((seconds, at) => seconds / alone[at]!)
    return { seconds: rounded(median(alone)), withServe: rounded(median(served)), ratio: rounded(median(ratios), 3) }
  } finally {
    await sandbox.close()
  }
}
