// A data folder with the whole corpus, which is built once per test run and copied for each test that needs a filled warehouse.

import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, inject } from 'vitest'
import { openWarehouse, type Warehouse } from '../../../src/warehouse/open.ts'
import { until } from '../../until.ts'
import { SMALL, type TemporaryWarehouse, type Workspace, workspaceIn } from '../temporary-warehouse.ts'
import { buildCorpus } from './build.ts'
import { WORKSPACES, workspaceCase } from './cases.ts'

const isNew = (folder: string): Promise<boolean> =>
  mkdir(folder).then(
    () => true,
    () => false,
  )

/** Returns the template of this run. The first process that needs it builds it; others wait. */
async function template(): Promise<string> {
  const run = inject('corpus')
  const [home, building, failed] = ['home', 'building', 'failed'].map(name => join(run, name)) as [
    string,
    string,
    string,
  ]
  if (existsSync(home)) return home
  if (await isNew(building))
    await buildCorpus(building).then(
      () => rename(building, home),
      error => writeFile(failed, String((error as Error).stack)),
    )
  await until(() => existsSync(home) || existsSync(failed))
  if (existsSync(failed)) throw new Error(`The corpus could not be built: see ${failed}`)
  return home
}

/** Copies the template into a new data folder, which the caller removes. */
export async function corpusHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'convohouse-corpus-'))
  await cp(await template(), home, { recursive: true })
  return home
}

export interface CorpusWarehouse extends TemporaryWarehouse {
  /** Returns the workspace of a case. */
  corpus(id: string): Workspace
}

/** Opens a copy of the corpus for the tests of a file. Call it at the top level of the file. */
export function corpusWarehouse(): CorpusWarehouse {
  let home: string
  let warehouse: Warehouse
  let workspaces = 0
  beforeAll(async () => {
    home = await corpusHome()
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
    corpus: id => {
      const timeZone = (WORKSPACES.includes(id) ? workspaceCase(id).timeZone : undefined) ?? 'UTC'
      return workspaceIn({ home, warehouse, id, timeZone })
    },
  }
}
