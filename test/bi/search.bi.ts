// Full-text search in transcripts, with the queries of docs/marts.md: in the warehouse, in a snapshot with DuckDB's
// extension `fts`, and in PostgreSQL.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, it } from 'vitest'
import { placeFindings } from '../../src/cli/doctor/targets.ts'
import type { Config } from '../../src/config.ts'
import { refreshMarts } from '../../src/warehouse/marts/refresh.ts'
import { DEFAULT, ENTRY, newTarget, publishTo, SETTINGS } from '../publish/published.ts'
import { applyTo, eventOf } from '../warehouse/events/events-in.ts'
import { AGENT, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { EXTENSIONS, extensionFolder } from './extensions.ts'
import { whyLacking } from './lacking.ts'
import { describeWithPostgres, load, postgresScene } from './postgres-scene.ts'

const scene = postgresScene()
const { app } = scene

const page = readFileSync(join(process.cwd(), 'docs/marts.md'), 'utf8')
const [inWarehouse, inSnapshot, inPostgres] = [...page.matchAll(/```(?:sql|duckdb|postgresql)\n([^`]+)```/g)]
  .flatMap(([, sql]) => sql!.split(/;\s*/))
  .filter(sql => sql.includes('refund')) as [string, string, string]

/** Adds turns to a conversation. */
const say = (place: ReturnType<typeof app.workspace>, minute: number, ...texts: string[]) => {
  const turns = texts.map((text, index) => ({ role: 'user', text, timestamp: SENT_AT_MS + index }))
  return applyTo(
    place,
    eventOf('conversation_updated', { agentId: AGENT, convoId: 'c', createdAt: SENT_AT_MS + minute, turns }),
  )
}

describeWithPostgres('transcripts', () => {
  it('are found by words', async () => {
    const place = app.workspace()
    await load(place, [{ ID: 'c' }])
    await say(
      place,
      1,
      'Where is my Refund?',
      'Thank you',
      'The refund went to your card',
      'refunds and cards',
      'Größe 42',
    )
    const { writer } = app.warehouse
    await refreshMarts(writer)
    expect(await writer.rows(inWarehouse)).toEqual([
      { conversation_id: 'c', position: 3, text: 'The refund went to your card' },
    ])

    const target = scene.newTarget({ search: 'english' })
    await scene.publish(target)
    const admin = (sql: string) => scene.admin.rows(sql.replaceAll('convohouse_marts', `${target.schema}_marts`))
    const english = inPostgres.replaceAll(`'simple'`, `'english'`)
    expect((await admin(english)).map(([, position]) => position).sort()).toEqual([3, 4])
    await scene.admin.execute(`CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
      BEGIN PERFORM set_config('enable_seqscan', 'off', true); RETURN QUERY EXECUTE 'EXPLAIN ' || query; END $$`)
    const plan = await admin(`SELECT plan_of($q$${english.trim()}$q$)`)
    expect(plan.flat().join('\n')).toContain('fct_turns_search')
    await scene.publish({ ...target, search: 'simple' })
    expect((await admin(inPostgres)).map(([, position]) => position)).toEqual([3])
    const indexes = `SELECT indexname::text, strpos(indexdef, 'simple') > 0 FROM pg_indexes WHERE schemaname = '${target.schema}_marts' AND indexname LIKE '%search%'`
    expect(await admin(indexes)).toEqual([['fct_turns_search', true]])
    const { search: _, ...without } = target
    await scene.publish(without)
    expect(await admin(indexes)).toEqual([])
  })

  it.skipIf(whyLacking(EXTENSIONS) !== null)('are found by words in a snapshot, whose index follows', async () => {
    const extensions = extensionFolder()
    const target = newTarget(app.home, { search: 'simple' })
    const settings = { ...SETTINGS, extensions }
    const place = app.workspace()
    await load(place, [{ ID: 'c' }])
    await say(place, 1, 'The refund went to your card', 'No card', 'Größe 42', 'Хочу возврат')
    const search = async (sql: string) => {
      const instance = await DuckDBInstance.create(target.path, { access_mode: 'READ_ONLY', threads: '1' })
      const connection = await instance.connect()
      await connection.run(`LOAD '${join(extensions, 'fts.duckdb_extension')}'`)
      const rows = (await connection.runAndReadAll(sql)).getRowObjectsJson()
      connection.closeSync()
      instance.closeSync()
      return rows.filter(row => row.workspace_id === place.id).map(({ text }) => text)
    }
    const query = inSnapshot.replace('SELECT', 'SELECT workspace_id,')
    const config = { home: app.home, threads: 1, publish: SETTINGS, extensions } as unknown as Config
    const tested = await placeFindings({ config, target, offline: false, entry: ENTRY })
    expect(tested).toMatchObject([{ state: 'ok', found: expect.stringContaining('with the extension fts') }])
    await publishTo(app, target, { settings, verify: true })
    expect(await search(query)).toEqual(['The refund went to your card', 'No card'])
    expect(await search(query.replace('refund card', 'grosse'))).toEqual([])
    expect(await search(query.replace('refund card', 'größe'))).toEqual(['Größe 42'])
    expect(await search(query.replace('refund card', 'ВОЗВРАТ'))).toEqual(['Хочу возврат'])
    await say(place, 2, 'Another refund', 'Bye')
    const report = await publishTo(app, target, { settings, verify: true })
    expect(report.kind).toBe('delta')
    expect(await search(query)).toEqual(['Another refund'])
    // Without texts there is nothing to search, and a target that needs no extension loads none.
    await publishTo(app, newTarget(app.home, { pii: DEFAULT }), { settings: SETTINGS })
  })
})
