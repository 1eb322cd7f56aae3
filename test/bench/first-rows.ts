// Time until the first rows: from the start of `convohouse sync` (new process, empty data folder) until a query during the sync counts
// conversations.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startSandbox } from '../../src/sandbox/server.ts'
import { queryHolder } from '../../src/warehouse/query/http/holder-client.ts'
import { type BenchOptions, median, rounded } from './measure.ts'

const cli = fileURLToPath(new URL('../../src/cli/convohouse.cjs', import.meta.url))

async function countRows(home: string): Promise<number> {
  const result = await queryHolder({ home, sql: 'SELECT count(*) FROM conversations', timeoutMs: 5_000 }).catch(
    () => null,
  )
  if (result === null) return 0
  for await (const batch of result.batches) return Number(batch.columns[0]?.[0] ?? 0)
  return 0
}

async function firstRowsOf(child: ChildProcess, home: string, begun: number): Promise<number> {
  while (child.exitCode === null) {
    if ((await countRows(home)) > 0) return (performance.now() - begun) / 1_000
    await new Promise(done => setTimeout(done, 20))
  }
  throw new Error(`sync ended with ${child.exitCode} before a row was seen`)
}

export async function firstRows(options: BenchOptions): Promise<Record<string, number>> {
  const sandbox = await startSandbox({
    port: 0,
    conversations: options.records,
    agents: options.agents,
    latencyMs: 50,
    limits: false,
  })
  const taken: number[] = []
  try {
    for (let round = 0; round < options.rounds; round++) {
      const home = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
      const env = {
        ...process.env,
        CONVOHOUSE_API_URL: sandbox.url,
        CONVOHOUSE_API_TOKEN: 'sandbox-token',
        CONVOHOUSE_WORKSPACE: 'ws_demo',
        CONVOHOUSE_HOME: home,
      }
      const begun = performance.now()
      const child = spawn(process.execPath, [cli, 'sync', '--yes'], { env, stdio: 'ignore' })
      taken.push(await firstRowsOf(child, home, begun))
      console.log(`round ${round + 1}: ${rounded(taken.at(-1)!)} s`)
      child.kill('SIGKILL')
      await once(child, 'exit')
      await rm(home, { recursive: true, force: true })
    }
    return { seconds: rounded(median(taken)) }
  } finally {
    await sandbox.close()
  }
}
