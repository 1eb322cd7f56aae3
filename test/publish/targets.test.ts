// The snapshot and the Parquet files keep the contract of targets.
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { describe } from 'vitest'
import type { ParquetTarget } from '../../src/config/targets/parquet.ts'
import type { SnapshotTarget } from '../../src/config/targets/snapshot.ts'
import { isDeep } from '../tier.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { bytesContain, newTarget, rowsIn } from './published.ts'
import { currentFolder, newParquet, parquetOf, queryFiles, valuesContain } from './published-parquet.ts'
import { describeTarget } from './target-contract.ts'

const app = temporaryWarehouse()

describe('a snapshot', () => {
  describeTarget<SnapshotTarget>({
    app,
    newTarget: () => newTarget(app.home),
    rows: ({ path }, table, { what, where }) => rowsIn(path, `SELECT ${what} FROM ${table} WHERE ${where}`),
    hasText: ({ path }, text) => bytesContain(path, text),
    async occupy({ path }) {
      const instance = await DuckDBInstance.create(path)
      instance.closeSync()
      return () => readFile(path)
    },
    erases: 'refill',
    isLocked: true,
    kills: [
      ...(isDeep
        ? ([
            { step: /^copyFile/, state: 'old' },
            { step: /^COMMIT/, state: 'old' },
            { step: /^CHECKPOINT target/, state: 'old' },
          ] as const)
        : []),
      { step: /^rename/, state: 'old' },
      // The file is synced after `rename`.
      { step: /^open (?!.*\.next )\S+ r$/, state: 'new' },
    ],
  })
})

describe('a target of Parquet files', () => {
  describeTarget<ParquetTarget>({
    app,
    newTarget: () => newParquet(app.home),
    rows: async (target, table, { what, where }) =>
      queryFiles(`SELECT ${what} FROM ${parquetOf(await currentFolder(target), table)} WHERE ${where}`),
    hasText: ({ path }, text) => valuesContain(path, text),
    async occupy({ path }) {
      await mkdir(join(path, 'current'), { recursive: true })
      return () => readdir(join(path, 'current'))
    },
    erases: 'delta',
    changesOwner: isDeep,
    isLocked: true,
    kills: [
      ...(isDeep
        ? ([
            { step: /^link/, count: 2, state: 'old' },
            { step: /^writeFile/, state: 'old' },
          ] as const)
        : []),
      { step: /^rename/, state: 'old' },
      // The folder is synced after `rename`.
      ...(isDeep ? ([{ step: /^open \S+\/p\d+ r$/, state: 'new' }] as const) : []),
    ],
  })
})
