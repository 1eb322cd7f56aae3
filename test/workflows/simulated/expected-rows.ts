// The rows that records must have in the tables: those of an empty warehouse that loads each agent's records once, as a
// single page. The corpus (test/warehouse/corpus) proves how fields become columns; these rows prove that a sync keeps them.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import { loadPages } from '../../../src/warehouse/load/load.ts'
import { openWarehouse } from '../../../src/warehouse/open.ts'
import { temporaryFolder } from '../../../src/warehouse/temporary-files.ts'
import { freshWindow, landConversations } from '../../warehouse/landed-pages.ts'
import { type Tables, warehouseTables } from './warehouse-tables.ts'

const WORKSPACE = 'expected'

export async function expectedTables(
  records: Iterable<{ agentId: string; record: Record<string, unknown> }>,
): Promise<Tables> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-expected-'))
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  const landing = openLanding(home).workspace(WORKSPACE)
  try {
    const byAgent = new Map<string, Record<string, unknown>[]>()
    for (const { agentId, record } of records) byAgent.set(agentId, [...(byAgent.get(agentId) ?? []), record])
    const pages = [...byAgent].map(([agentId, own]) =>
      landConversations(landing, { records: own, window: freshWindow({ agentId }) }),
    )
    await loadPages(
      {
        ...{ writer: warehouse.writer, workspaceId: WORKSPACE, timeZone: 'UTC', mirrorLagMs: 0, now: Date.now },
        ...{ temporaryFolder: temporaryFolder(home), readBody: landing.body, pageFiles: landing.files },
        verifyChecksums: landing.verifyChecksums,
      },
      await Promise.all(pages),
    )
    return await warehouseTables(warehouse.writer.rows)
  } finally {
    await warehouse.close()
    await rm(home, { recursive: true })
  }
}
