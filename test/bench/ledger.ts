// Duration of `ledger` in a large warehouse: a million conversations, and the pages of a year of polls every 15 minutes, some of which
// skipped conversations and were read again three times.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWarehouse, type Warehouse } from '../../src/warehouse/open.ts'
import { type BenchOptions, median, rounded, seconds } from './measure.ts'

const POLLS_A_YEAR = 365 * 96
/** One poll in this many skipped conversations; its page was read again three times. */
const SKIPPING_EVERY = 10

const BEGIN = "TIMESTAMP '2025-01-01'"
const windowName = (kind: string) => `'${kind}-' || poll`
const POLLED = `FROM range(${POLLS_A_YEAR}) p(poll), (SELECT 'agent-' || range AS agent FROM range($agents)) a`

async function fill({ writer }: Warehouse, { records, agents }: BenchOptions): Promise<void> {
  const polled = POLLED.replace('$agents', String(agents))
  const perAgent = `'agent-' || (range % ${agents})`
  const at = `${BEGIN} + to_milliseconds((range * 31536000000 // ${records})::BIGINT)`
  const from = `${BEGIN} + to_minutes(15 * poll::BIGINT)`
  const to = `${from} + INTERVAL 899 SECOND`
  for (const statement of [
    `INSERT INTO _workspaces VALUES ('ws', 'Europe/Berlin')`,
    `INSERT INTO conversations (workspace_id, agent_id, conversation_id, ts, _complete, _fetched_at)
     SELECT 'ws', ${perAgent}, uuid()::VARCHAR, ${at}, true, ${at} FROM range(${records})`,
    `INSERT INTO conversation_observations (workspace_id, agent_id, conversation_id, observed_at, source, version)
     SELECT workspace_id, agent_id, conversation_id, _fetched_at, 'export', ts FROM conversations`,
    `INSERT INTO _windows (workspace_id, agent_id, window_name, kind, from_at, to_at, opened_at, done, pages, returned, scanned, billed, progress)
     SELECT 'ws', agent, ${windowName('head')}, 'head', ${from}, ${to}, ${to}, true, 1, 1, 1, 1, '{}' ${polled}`,
    `INSERT INTO _requests (workspace_id, file, stream, agent_id, window_name, kind, sent_at, status, returned, scanned, billed_sessions, from_at, to_at)
     SELECT 'ws', agent || '/head/' || poll, 'conversations', agent, ${windowName('head')}, 'head', ${to} + INTERVAL 1 SECOND, 200, 1,
       CASE WHEN poll % ${SKIPPING_EVERY} = 0 THEN 3 ELSE 1 END, 1, ${from}, ${to} ${polled}`,
    ...[1, 2, 4].flatMap(days => [
      `INSERT INTO _windows (workspace_id, agent_id, window_name, kind, from_at, to_at, opened_at, done, pages, returned, scanned, billed, progress)
       SELECT 'ws', agent, ${windowName(`again${days}`)}, 'reread', ${from}, ${to}, ${to} + INTERVAL ${days} DAY, true, 1, 1, 3, 1, '{}'
       ${polled} WHERE poll % ${SKIPPING_EVERY} = 0`,
      `INSERT INTO _requests (workspace_id, file, stream, agent_id, window_name, kind, sent_at, status, returned, scanned, billed_sessions, from_at, to_at)
       SELECT 'ws', agent || '/again${days}/' || poll, 'conversations', agent, ${windowName(`again${days}`)}, 'reread',
         ${to} + INTERVAL ${days} DAY + INTERVAL 1 SECOND, 200, 1, 3, 1, ${from}, ${to} ${polled} WHERE poll % ${SKIPPING_EVERY} = 0`,
    ]),
    'CHECKPOINT',
  ])
    await writer.run(statement)
}

const REPORT =
  'SELECT count(*)::INTEGER AS rows, sum(skipped)::INTEGER AS skipped, sum(held)::INTEGER AS held FROM _ledger'

/** Seconds for one complete report. */
export async function ledgerBench(options: BenchOptions): Promise<Record<string, number>> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-bench-'))
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 2 })
  try {
    await fill(warehouse, options)
    const [pages] = await warehouse.writer.rows<{ n: string }>('SELECT count(*) AS n FROM _requests')
    const taken: number[] = []
    for (let round = 0; round < options.rounds; round++) {
      taken.push(
        await seconds(async () => {
          const [row] = await warehouse.writer.rows(REPORT)
          console.log(JSON.stringify(row))
        }),
      )
      console.log(`round ${round + 1}: ${rounded(taken.at(-1)!)} s`)
    }
    return { conversations: options.records, pages: Number(pages!.n), seconds: rounded(median(taken)) }
  } finally {
    await warehouse.close()
    await rm(home, { recursive: true, force: true })
  }
}
