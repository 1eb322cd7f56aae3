// Compares dlt with `convohouse sync`: both load the same records from the same local server into DuckDB, starting from an empty folder.
// Measures the wall time of each process, in turns. Both page the export by HTTP, keep every field, and put nested lists into child
// tables. The time of convohouse includes what only it does: durable raw pages, drift, versions, bookkeeping.
//
// dlt is not a dependency. If the Python of DLT_PYTHON (else `python3`) lacks it, the benchmark explains how to install it, and fails.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { CLI, environment, inFolder, TOKEN, WORKSPACE } from './command.ts'
import { type BenchOptions, median, rounded } from './measure.ts'

const run = promisify(execFile)
// The script is not compiled: from `dist/test/bench`, it is three folders up and then in `test/bench/peers`.
const SCRIPT = fileURLToPath(new URL('../../../test/bench/peers/dlt_export.py', import.meta.url))
const PYTHON = process.env.DLT_PYTHON || 'python3'
/** Share of generated conversations in which a person has written, so that they are exported. */
const EXPORTED_SHARE = 0.951

const MODES = ['tuned', 'default'] as const
type Mode = (typeof MODES)[number]

/** The DuckDB version of convohouse. */
let duckdb = ''

/** Duration and row counts, under names that both peers share. */
interface Outcome {
  seconds: number
  conversations: number
  tags: number
  handoffs: number
}

async function expectDlt(): Promise<void> {
  const asked = 'import dlt, duckdb, pyarrow; print(f"dlt {dlt.__version__}, DuckDB {duckdb.__version__}")'
  const { stdout } = await run(PYTHON, ['-c', asked]).catch(() => {
    console.error(
      `${PYTHON} has no dlt: run \`python3 -m venv V && V/bin/pip install "dlt[duckdb,parquet]"\`, then this again with DLT_PYTHON=V/bin/python`,
    )
    process.exit(1)
  })
  console.log(`peer: ${stdout.trim()}`)
}

/** Renders every record once, so that both peers are served from the sandbox's cache. */
async function warm({ url, world }: Sandbox): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` }
  for (const agentId of world.agentIds()) {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = `limit=100${cursor && `&cursor=${cursor}`}`
      const answer = await fetch(`${url}/v3/agents/${agentId}/convos/export?${query}`, { headers })
      cursor = ((await answer.json()) as { nextCursor: string | null }).nextCursor
    }
  }
}

async function timed(command: string, args: string[], env: NodeJS.ProcessEnv) {
  const begun = performance.now()
  const { stdout } = await run(command, args, { env: { ...process.env, ...env }, maxBuffer: 1e8 })
  return { seconds: (performance.now() - begun) / 1_000, stdout }
}

async function byDlt(mode: Mode, { url }: Sandbox, folder: string): Promise<Outcome> {
  const env = { API_URL: url, API_TOKEN: TOKEN, WORKSPACE, RUNTIME__DLTHUB_TELEMETRY: 'false' }
  const { seconds, stdout } = await timed(PYTHON, [SCRIPT, mode, join(folder, 'peer.duckdb'), folder], env)
  const { rows } = JSON.parse(stdout.trim().split('\n').at(-1)!) as { rows: Record<string, number> }
  const of = (table: string) => rows[table] ?? 0
  return {
    seconds,
    conversations: of('conversations'),
    tags: of('conversations__tags'),
    handoffs: of('conversations__handoff_history'),
  }
}

async function byUs({ url }: Sandbox, home: string): Promise<Outcome> {
  const { seconds } = await timed(process.execPath, [CLI, 'sync', '--yes'], environment({ home, url }))
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 2 })
  try {
    const [row] = await warehouse.writer.rows(`SELECT (SELECT count(*) FROM conversations)::INTEGER AS conversations,
      (SELECT count(*) FROM conversation_tags)::INTEGER AS tags,
      (SELECT count(*) FROM conversation_handoffs)::INTEGER AS handoffs, version() AS version`)
    const { version, ...counts } = row as unknown as Omit<Outcome, 'seconds'> & { version: string }
    duckdb = version
    return { seconds, ...counts }
  } finally {
    await warehouse.close()
  }
}

/** @throws if the peers do not have the same row counts */
function expectAlike(outcomes: Outcome[]): void {
  const [first] = new Set(outcomes.map(({ seconds: _, ...rows }) => JSON.stringify(rows)))
  const other = outcomes.find(({ seconds: _, ...rows }) => JSON.stringify(rows) !== first)
  if (other) throw new Error(`the peers' rows differ: ${JSON.stringify(outcomes)}`)
}

async function rounds(sandbox: Sandbox, options: BenchOptions): Promise<Record<Mode | 'us', number[]>> {
  const taken: Record<Mode | 'us', number[]> = { us: [], tuned: [], default: [] }
  for (let round = 0; round < options.rounds; round++) {
    const us = await inFolder(home => byUs(sandbox, home))
    const tuned = await inFolder(folder => byDlt('tuned', sandbox, folder))
    const plain = await inFolder(folder => byDlt('default', sandbox, folder))
    expectAlike([us, tuned, plain])
    taken.us.push(us.seconds)
    taken.tuned.push(tuned.seconds)
    taken.default.push(plain.seconds)
    const [a, b, c] = [us, tuned, plain].map(({ seconds }) => rounded(seconds, 1))
    console.log(
      `round ${round + 1}: ${us.conversations} conversations, convohouse (DuckDB ${duckdb}) ${a} s, dlt tuned ${b} s, dlt default ${c} s`,
    )
  }
  return taken
}

export async function peersBench(options: BenchOptions): Promise<Record<string, number>> {
  await expectDlt()
  const sandbox = await startSandbox({
    port: 0,
    token: TOKEN,
    workspaceId: WORKSPACE,
    conversations: Math.round(options.records / EXPORTED_SHARE),
    arrivalsPerDay: 0,
    agents: options.agents,
    hourlyRequests: 1_000_000,
    quotaSessions: 1_000_000_000,
    cacheBytes: 20_000 * options.records,
  })
  try {
    await warm(sandbox)
    const taken = await rounds(sandbox, options)
    const [us, tuned, plain] = [median(taken.us), median(taken.tuned), median(taken.default)]
    return {
      timesDltTuned: rounded(tuned / us),
      timesDltDefault: rounded(plain / us),
      seconds: rounded(us),
      dltTunedSeconds: rounded(tuned),
      dltDefaultSeconds: rounded(plain),
      rounds: options.rounds,
    }
  } finally {
    await sandbox.close()
  }
}
