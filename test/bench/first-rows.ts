// Measures the time until the first rows: from the start of `convohouse sync` (new process, empty data folder) until a
// query during the sync counts conversations.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { startSandbox } from '../../src/sandbox/server.ts'
import { queryHolder } from '../../src/warehouse/query/http/holder-client.ts'
import { CLI, environment, inFolder } from './command.ts'
import { type BenchOptions, median, rounded } from './measure.ts'

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
    hourlyRequests: 1_000_000,
    quotaSessions: 1_000_000_000,
  })
  const taken: number[] = []
  try {
    for (let round = 1; round <= options.rounds; round++)
      await inFolder(async home => {
        const env = environment({ home, url: sandbox.url })
        const begun = performance.now()
        const child = spawn(process.execPath, [CLI, 'sync', '--yes'], { env, stdio: 'ignore' })
        taken.push(await firstRowsOf(child, home, begun))
        console.log(`round ${round}: ${rounded(taken.at(-1)!)} s`)
        child.kill('SIGKILL')
        await once(child, 'exit')
      })
    return { seconds: rounded(median(taken)) }
  } finally {
    await sandbox.close()
  }
}
