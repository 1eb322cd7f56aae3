// The target `parquet` in S3: what each publication writes, copies and removes, and what readers see.
import { expect, it } from 'vitest'
import type { ParquetTarget } from '../../src/config/targets.ts'
import { load } from './postgres-scene.ts'
import { describeWithS3, s3Scene } from './s3-scene.ts'

const scene = s3Scene()
const { app, newTarget, publish, query } = scene

const SEPTEMBER = Date.UTC(2026, 8, 5)
const OCTOBER = Date.UTC(2026, 9, 5)
const NOVEMBER = Date.UTC(2026, 10, 5)

const OBJECT = /^_objects\/(.+)\/[^/]+\.parquet$/

/** The folders of a table's objects, as often as there are objects. */
const objectsOf = async (target: ParquetTarget, table: string) =>
  (await scene.bucket.names(target)).flatMap(name => {
    const folder = OBJECT.exec(name)?.[1]
    return folder?.startsWith(`${table}/`) ? [folder.slice(table.length + 1)] : []
  })

const copiesOf = async (target: ParquetTarget, table: string) =>
  (await scene.bucket.names(target))
    .filter(name => name.startsWith(`${table}/`))
    .map(name => name.slice(table.length + 1))

const rowsBy = async (from: string, what: string) => query(`SELECT ${what} FROM ${from} ORDER BY ALL`)

describeWithS3('a target in S3', () => {
  it('has an object for each month, which a delta replaces; the copies of all others stay', async () => {
    const place = app.workspace()
    const target = newTarget()
    await load(place, [
      { ID: 'a', userName: 'Ann', ts: OCTOBER, tags: ['x', 'y'] },
      { ID: 'b', userName: 'Bob', ts: SEPTEMBER, tags: ['b'] },
      { ID: 'c', userName: 'Cy' },
    ])
    expect(await publish(target)).toMatchObject({ kind: 'refill', reason: 'no watermark' })
    const [september, october, none] = ['month=2026-09', 'month=2026-10', 'month=__HIVE_DEFAULT_PARTITION__']
    expect(await objectsOf(target, 'conversations')).toEqual([september, october, none])
    expect(await copiesOf(target, 'conversations')).toEqual(
      [september, october, none].map(one => `${one}/data.parquet`),
    )
    const before = await scene.listed(target, 'conversations')
    await load(place, [{ ID: 'a', userName: 'Amy', ts: NOVEMBER, tags: ['z'] }], 1)
    expect(await publish(target)).toMatchObject({ kind: 'delta', reason: null })
    expect(await publish(target)).toMatchObject({ kind: 'current' })
    const after = ['month=2026-09/data.parquet', 'month=2026-11/data.parquet', `${none}/data.parquet`]
    expect(await copiesOf(target, 'conversations')).toEqual(after)
    // The object of October is kept for readers of the earlier manifest.
    expect(await objectsOf(target, 'conversations')).toEqual([september, october, 'month=2026-11', none])
    const rows = (from: string) => rowsBy(from, 'user_name, month')
    const now = [
      ['Amy', '2026-11'],
      ['Bob', '2026-09'],
      ['Cy', null],
    ]
    expect(await rows(scene.globbed(target, 'conversations'))).toEqual(now)
    expect(await rows(await scene.listed(target, 'conversations'))).toEqual(now)
    expect(await rows(before)).toEqual([['Ann', '2026-10'], ...now.slice(1)])
    expect(await rowsBy(scene.globbed(target, 'leads'), 'count(*)::INT')).toEqual([[0]])
    expect(await rowsBy(await scene.listed(target, 'conversation_tags'), 'tag, month')).toEqual([
      ['b', '2026-09'],
      ['z', '2026-11'],
    ])
  })
})
