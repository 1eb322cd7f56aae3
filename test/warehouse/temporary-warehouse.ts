// A real warehouse and landing in a temporary folder, removed after the test file. Tests that need isolated rows use
// separate workspaces: opening a warehouse costs more than loading into it.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { MINUTE } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { Landing } from '../../src/landing/landing.ts'
import type { Row } from '../../src/warehouse/connection.ts'
import { type LoadResult, loadPages } from '../../src/warehouse/load/load.ts'
import type { LoadablePage, LoadContext } from '../../src/warehouse/load/load-input.ts'
import { openWarehouse, type Warehouse } from '../../src/warehouse/open.ts'
import { temporaryFolder } from '../../src/warehouse/temporary-files.ts'

export const SMALL = { memoryLimit: '1GB', threads: 1 }

export const MIRROR_LAG_MS = 2 * MINUTE

/** Current time of every load. */
export const LOADED_AT_MS = Date.UTC(2026, 10, 20, 12)

export interface Workspace {
  id: string
  landing: Landing
  context: LoadContext
  load(...pages: LoadablePage[]): Promise<LoadResult>
  /** Returns rows of this workspace, without `workspace_id`; `what` is the SELECT list. */
  rows(table: string, what?: string): Promise<Row[]>
}

export interface TemporaryWarehouse {
  home: string
  warehouse: Warehouse
  /** Returns a workspace that no other test uses. */
  workspace(options?: { timeZone?: string }): Workspace
}

interface WorkspacePlace {
  home: string
  warehouse: Warehouse
  id: string
  timeZone: string
}

/** Returns a workspace of an open warehouse, and its landing in the same data folder. */
export function workspaceIn({ home, warehouse, id, timeZone }: WorkspacePlace): Workspace {
  const landing = openLanding(home).workspace(id)
  const context: LoadContext = {
    writer: warehouse.writer,
    workspaceId: id,
    timeZone,
    mirrorLagMs: MIRROR_LAG_MS,
    temporaryFolder: temporaryFolder(home),
    readBody: landing.body,
    pageFiles: landing.files,
    verifyChecksums: landing.verifyChecksums,
    now: () => LOADED_AT_MS,
  }
  return {
    id,
    landing,
    context,
    load: (...pages) => loadPages(context, pages),
    rows: (table, what = '* EXCLUDE (workspace_id)') =>
      warehouse.writer.rows(`SELECT ${what} FROM ${table} WHERE workspace_id = '${id}' ORDER BY ALL`),
  }
}

/** Detaches a warehouse without a checkpoint, so that its log stays as after a kill. */
export async function detachWithLog(writer: Warehouse['writer']): Promise<void> {
  for (const statement of ['PRAGMA disable_checkpoint_on_shutdown', 'USE memory', 'DETACH warehouse'])
    await writer.run(statement)
}

const emptyHome = (): Promise<string> => mkdtemp(join(tmpdir(), 'convohouse-'))

/** Opens a warehouse, in a folder that `makeHome` makes. Call it at the top level of a test file. */
export function temporaryWarehouse(makeHome = emptyHome): TemporaryWarehouse {
  let home: string
  let warehouse: Warehouse
  let workspaces = 0
  beforeAll(async () => {
    home = await makeHome()
    warehouse = await openWarehouse({ home, ...SMALL })
  })
  afterAll(async () => {
    await warehouse.close()
    await rm(home, { recursive: true })
  })
  return {
    get home() {
      return home
    },
    get warehouse() {
      return warehouse
    },
    workspace: ({ timeZone = 'UTC' } = {}) => workspaceIn({ home, warehouse, id: `ws_${++workspaces}`, timeZone }),
  }
}
