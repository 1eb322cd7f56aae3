// Deltas in PostgreSQL write only rows that differ from the existing ones.
import { expect, it } from 'vitest'
import { SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { describeWithPostgres, load, postgresScene } from './postgres-scene.ts'

const scene = postgresScene()
const { app, publish, newTarget } = scene

describeWithPostgres('a delta in PostgreSQL', () => {
  it('receives only those rows of changed records that differ: one more, one less, another order, or the same twice', async () => {
    const place = app.workspace()
    const target = newTarget()
    const activity = (title: string, price: number) => ({ title, type: 'call', notes: [{ text: title, price }] })
    const records = [
      { ID: 'same', userName: 'Ann', tags: ['x', 'x', 'y'], crmActivities: [activity('A', 0.1)] },
      { ID: 'more', userName: 'Bob', tags: ['x'] },
      { ID: 'less', userName: 'Cy', tags: ['x', 'x'] },
      { ID: 'none', userName: 'Di', tags: ['x'] },
    ]
    await load(place, records)
    await publish(target)
    const stored = async (table: string) =>
      Object.fromEntries(
        (await scene.admin.rows(
          `SELECT conversation_id, string_agg(xmin::text, ' ') FROM ${target.schema}.${table} WHERE workspace_id = '${place.id}' GROUP BY 1`,
        )) as [string, string][],
      )
    const [tags, activities] = [await stored('conversation_tags'), await stored('crm_activities')]
    const tagsAfter = [['x', 'x', 'y'], ['x', 'x'], ['x'], []]
    await load(
      place,
      records.map((record, index) => ({ ...record, userName: 'Eve', tags: tagsAfter[index] })),
      1,
    )
    expect(await publish(target)).toMatchObject({ kind: 'delta' })
    const names = `SELECT user_name FROM ${target.schema}.conversations WHERE workspace_id = '${place.id}'`
    expect((await scene.admin.rows(names)).flat()).toEqual(['Eve', 'Eve', 'Eve', 'Eve'])
    const after = await stored('conversation_tags')
    expect(after.same).toBe(tags.same)
    expect([after.more, after.less, after.none]).not.toContainEqual(tags.more)
    const counted = `SELECT conversation_id, count(*)::int FROM ${target.schema}.conversation_tags WHERE workspace_id = '${place.id}' GROUP BY 1 ORDER BY 1`
    expect(await scene.admin.rows(counted)).toEqual([
      ['less', 1],
      ['more', 2],
      ['same', 3],
    ])
    expect(await stored('crm_activities')).toEqual(activities)
  })

  it('receives changes of the last digit under any settings of its role, and calls no function of other users', async () => {
    const place = app.workspace()
    const target = newTarget()
    const { admin } = scene
    await load(place, [{ ID: 'a', csat: { satisfaction10: 0.3, submittedAt: SENT_AT_MS } }])
    await publish(target)
    await admin.execute(`ALTER ROLE ${target.connection.user} SET extra_float_digits = 0;
      CREATE FUNCTION public.hashtextextended(text, integer) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''of somebody else''; END'`)
    try {
      await load(place, [{ ID: 'a', csat: { satisfaction10: 0.1 + 0.2, submittedAt: SENT_AT_MS } }], 1)
      const report = await publish(target)
      expect(report).toMatchObject({ kind: 'delta' })
      expect(report.verified).toBeGreaterThan(50)
    } finally {
      await admin.execute(`ALTER ROLE ${target.connection.user} RESET extra_float_digits;
        DROP FUNCTION public.hashtextextended(text, integer)`)
    }
    const scores = `SELECT csat_score FROM ${target.schema}_marts.fct_csat WHERE workspace_id = '${place.id}'`
    expect(await admin.rows(scores)).toEqual([[0.1 + 0.2]])
  })
})
