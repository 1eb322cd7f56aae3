// A data folder with the whole corpus, which is built once per test run and copied for each test that needs a filled warehouse.

import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { until } from '../../until.ts'
import { type TemporaryWarehouse, temporaryWarehouse, type Workspace, workspaceIn } from '../temporary-warehouse.ts'
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
async function corpusHome(): Promise<string> {
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
  const opened = temporaryWarehouse(corpusHome)
  return Object.assign(opened, {
    corpus(id: string): Workspace {
      const timeZone = (WORKSPACES.includes(id) ? workspaceCase(id).timeZone : undefined) ?? 'UTC'
      return workspaceIn({ home: opened.home, warehouse: opened.warehouse, id, timeZone })
    },
  })
}
