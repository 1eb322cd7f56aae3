// Shared checks of a sync's tables and requests, and of graceful ends of workers.
import { expect } from 'vitest'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import type { Running } from '../cli/cli-process.ts'
import { expectedTables } from '../workflows/simulated/expected-rows.ts'
import { truthOf } from '../workflows/simulated/truth.ts'
import { asLines, warehouseTables } from '../workflows/simulated/warehouse-tables.ts'
import type { Scene } from './scene.ts'

/** Ends a worker gracefully. */
export async function ended(running: Running): Promise<void> {
  running.process.kill('SIGTERM')
  expect((await running.ended).code).toBe(0)
}

/** Expects the vendor's data in the tables that `rows` reads. */
export async function expectRows(sandbox: Sandbox, rows: Parameters<typeof warehouseTables>[0]): Promise<void> {
  const truth = truthOf(sandbox, { throughMs: sandbox.clock.now() })
  expect(asLines(await warehouseTables(rows))).toEqual(asLines(await expectedTables(truth)))
}

/** Expects the vendor's data in the tables. No worker may still hold the warehouse. */
export async function expectTruth({ sandbox, config }: Scene): Promise<void> {
  const { home, memoryLimit, threads } = config
  const warehouse = await openWarehouse({ home, memoryLimit, threads })
  await expectRows(sandbox, sql => warehouse.writer.rows(sql)).finally(() => warehouse.close())
}

/** Returns the number of export requests that repeat an earlier one. */
export async function repeatedRequests({ exported }: Scene): Promise<number> {
  const asked = (await exported()).map(({ agentId, query }) => JSON.stringify([agentId, query]))
  return asked.length - new Set(asked).size
}
