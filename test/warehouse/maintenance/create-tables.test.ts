import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConvohouseError } from '../../../src/core/errors.ts'
import { logRange } from '../../../src/warehouse/changes/log-changes.ts'
import { openWarehouse, type Warehouse } from '../../../src/warehouse/open.ts'
import { openReader } from '../../../src/warehouse/query/reader.ts'
import { warehouseFile } from '../../../src/warehouse/warehouse-file.ts'
import { SMALL } from '../temporary-warehouse.ts'

let home: string
const opened: Warehouse[] = []

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'convohouse-'))
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map(warehouse => warehouse.close()))
  await rm(home, { recursive: true })
})

async function open(): Promise<Warehouse> {
  const warehouse = await openWarehouse({ home, ...SMALL })
  opened.push(warehouse)
  return warehouse
}

/** Opens a warehouse, runs `work` and closes it. */
async function visit<T>(work: (warehouse: Warehouse) => Promise<T>): Promise<T> {
  const warehouse = await openWarehouse({ home, ...SMALL })
  return work(warehouse).finally(() => warehouse.close())
}

const refusal = (promise: Promise<unknown>): Promise<ConvohouseError> =>
  promise.then(
    () => expect.fail('it was opened'),
    (error: ConvohouseError) => error,
  )

const epochOf = async ({ writer }: Pick<Warehouse, 'writer'>) => (await logRange(writer)).epoch

describe('a warehouse', () => {
  it('that is opened again is not written to', async () => {
    await visit(async () => {})
    const before = await readFile(warehouseFile(home))
    await visit(async () => {})
    expect((await readFile(warehouseFile(home))).equals(before)).toBe(true)
  })

  it('of the same layout gets the views of this version if another version has brought it up to date', async () => {
    await visit(({ writer }) =>
      writer.run(`CREATE OR REPLACE VIEW workspaces AS SELECT 1 AS other; UPDATE _layout SET definition = 'other'`),
    )
    expect(await visit(({ writer }) => writer.rows('SELECT workspace_id FROM workspaces'))).toEqual([])
  })

  it('of an older catalog gains the columns and tables that were added since, in a new epoch of the change log', async () => {
    const epoch = await visit(epochOf)
    await visit(async ({ writer }) => {
      await writer.run(`INSERT INTO conversations (workspace_id, agent_id, conversation_id) VALUES ('w', 'a', 'kept')`)
      await writer.run('ALTER TABLE conversations DROP COLUMN csat_ease10')
      await writer.run('DROP TABLE conversation_tags')
      await writer.run(`UPDATE _layout SET definition = 'older'`)
    })
    const warehouse = await open()
    expect(await epochOf(warehouse)).not.toBe(epoch)
    expect(await warehouse.writer.rows('SELECT conversation_id, csat_ease10 FROM conversations')).toEqual([
      { conversation_id: 'kept', csat_ease10: null },
    ])
    expect(await warehouse.writer.rows('FROM conversation_tags')).toEqual([])
  })

  it.each([
    ['has another number', 'UPDATE _layout SET number = 9999', 'layout 9999'],
    ['does not say which it is', 'DROP TABLE _layout', 'layout 0'],
  ])('whose layout %s is refused to writers and readers, and is unchanged', async (_, to, says) => {
    await visit(async ({ writer }) => {
      await writer.run(to)
      await writer.run('ALTER TABLE conversations DROP COLUMN csat_ease10')
    })
    const file = warehouseFile(home)
    const before = await readFile(file)
    for (const opening of [() => open(), () => openReader({ file, ...SMALL })]) {
      const error = await refusal(opening())
      expect(error).toMatchObject({ code: 'WAREHOUSE_LAYOUT', exitCode: 6 })
      for (const part of [file, says]) expect(error.message).toContain(part)
      expect(error.hint).toContain('convohouse replay')
    }
    // The refusal releases the file, and has not restored the column.
    expect((await readFile(file)).equals(before)).toBe(true)
  })

  it('that is no DuckDB file is refused with a hint', async () => {
    await writeFile(warehouseFile(home), 'this is not a database, and long enough to be looked at '.repeat(100))
    const error = await refusal(open())
    expect(error).toMatchObject({ code: 'HOME_UNUSABLE' })
    expect(error.hint).toContain('replay')
  })
})

describe('a writer', () => {
  it('rolls back a transaction that throws, and continues with the next', async () => {
    const { writer } = await open()
    await writer.run('CREATE TABLE counted (n INTEGER)')
    const failing = writer.transaction(async () => {
      await writer.run('INSERT INTO counted VALUES (1)')
      throw new Error('on purpose')
    })
    const next = writer.transaction(() => writer.run('INSERT INTO counted VALUES (2)'))
    await expect(failing).rejects.toThrow('on purpose')
    await next
    expect(await writer.rows('SELECT n FROM counted')).toEqual([{ n: 2 }])
  })

  it('runs one transaction at a time', async () => {
    const { writer } = await open()
    const order: string[] = []
    const work = (name: string) =>
      writer.transaction(async () => {
        order.push(`${name} begins`)
        await writer.rows('SELECT 1')
        order.push(`${name} ends`)
      })
    await Promise.all([work('a'), work('b')])
    expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
  })
})
