// A conversation that is forgotten beside a process that holds the warehouse, and what must be left.
import { expect } from 'vitest'
import { erasures } from '../../src/landing/tombstones.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { rowsOfHolder } from '../../src/warehouse/query/rows.ts'
import { exportable } from '../cli/cli-process.ts'
import { until } from '../until.ts'

export type Conversation = { agent: string; id: string }

export async function storedIn(home: string): Promise<Conversation[]> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  const sql = 'SELECT agent_id AS agent, conversation_id AS id FROM conversations ORDER BY ALL'
  return warehouse.writer.rows<Conversation>(sql).finally(() => warehouse.close())
}

/** Returns the arguments that forget the conversation. */
export const forget = ({ agent, id }: Conversation) => ['forget', '--conversation', `${agent}/${id}`, '--yes', '--json']

/** Expects that the data folder, which no process holds, has all conversations of the vendor but those. */
export async function expectWithout(
  { home, sandbox }: { home: string; sandbox: Sandbox },
  gone: readonly Conversation[],
): Promise<void> {
  const stored = await storedIn(home)
  expect(stored).toHaveLength(exportable(sandbox) - gone.length)
  for (const one of gone) expect(stored).not.toContainEqual(one)
  expect((await erasures(home)).map(({ erasedMs }) => erasedMs)).toEqual(gone.map(() => expect.any(Number)))
}

/** Returns the first conversation that the process that holds the warehouse has loaded. */
export const firstLoaded = (home: string): Promise<Conversation> =>
  until(async () => {
    const sql = 'SELECT agent_id AS agent, conversation_id AS id FROM conversations LIMIT 1'
    const found = await rowsOfHolder(home, { timeoutMs: 5_000 })<Conversation>(sql).catch(() => [])
    return found[0]
  })
