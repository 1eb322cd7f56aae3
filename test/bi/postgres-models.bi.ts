// The user's models in a target in PostgreSQL, with a real server.
import { mkdtemp, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DEFAULT, SETTINGS } from '../publish/published.ts'
import { describeWithPostgres, load, postgresScene } from './postgres-scene.ts'

const scene = postgresScene()
const { app, publish, newTarget } = scene

const columnsOf = (count: number, value: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => `${value(index)} AS c${index}`).join(', ')

/** Models by whether PostgreSQL holds them. */
const SIZES = {
  many: columnsOf(1_700, String),
  named: `1 AS ${'n'.repeat(64)}`,
  wide: columnsOf(1_500, of => `${of}::DOUBLE`),
  texts: columnsOf(900, of => `'some text ${of}'`),
  held_texts: columnsOf(330, of => `sha256('${of}')`),
  held_nulls: columnsOf(1_500, () => 'NULL::DOUBLE'),
}

describeWithPostgres('models of the user in PostgreSQL', () => {
  it('have a separate schema, with classes, types, keys and comments; they follow as deltas, and leave an empty table', async () => {
    const place = app.workspace()
    const target = newTarget({ pii: DEFAULT })
    const schema = `${target.schema}_models`
    const models = await mkdtemp(join(app.home, 'models-'))
    const options = { settings: { ...SETTINGS, extensions: scene.extensions, models } }
    const file = join(models, 'by_conversation.sql')
    const write = (more: string) =>
      writeFile(
        file,
        `-- One row for each conversation.
-- key: workspace_id, conversation_id
-- columns:
--   workspace_id     none      Workspace
--   conversation_id  none      Conversation
--   contact          identity  Name of the contact
--   amount           none      Amount
--   texts            none      Texts
--   nested           none      A struct
--   seen             none      When it was seen
SELECT workspace_id, conversation_id, user_name AS contact, 1.5::DECIMAL(4, 2) AS amount, ['x' || chr(0)] AS texts, {n: 1} AS nested,
  TIMESTAMPTZ '2026-11-01' AS seen, user_name AS undeclared${more} FROM conversations WHERE workspace_id = '${place.id}'`,
      )
    const rows = () =>
      scene.admin.rows(`SELECT conversation_id, length(contact), amount::text, texts, nested::text, seen::text, undeclared
        FROM ${schema}.by_conversation ORDER BY 1`)
    const row = (id: string) => [id, 64, '1.5', ['x\uFFFD'], '{"n":1}', '2026-11-01 00:00:00+00', null]
    await write('')
    await load(place, [{ ID: 'a', userName: 'Ann' }])
    expect(await publish(target, options)).toMatchObject({ kind: 'refill' })
    expect(await rows()).toEqual([row('a')])
    const table = `'${schema}.by_conversation'::regclass`
    const facts = `SELECT obj_description(${table}), col_description(${table}, 3),
      (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = ${table} AND contype = 'p'), ${table}::oid::text`
    const [[about, contact, key, oid]] = (await scene.admin.rows(facts)) as [string[]]
    expect([about, contact, key]).toEqual([
      ...['One row for each conversation.', 'Name of the contact', 'PRIMARY KEY (conversation_id, workspace_id)'],
    ])
    await scene.admin.execute(`CREATE VIEW public.${schema} AS SELECT conversation_id FROM ${schema}.by_conversation`)

    await load(place, [{ ID: 'b', userName: 'Bob' }], 1)
    expect(await publish(target, options)).toMatchObject({ kind: 'delta' })
    expect(await rows()).toEqual([row('a'), row('b')])
    // With another column, the table is filled again; views stay the same.
    await write(', 1 AS more')
    expect(await publish(target, options)).toMatchObject({ kind: 'refill', reason: 'other policy' })
    expect(await rows()).toEqual([row('a'), row('b')])
    await unlink(file)
    expect(await publish(target, options)).toMatchObject({ kind: 'refill', reason: 'other policy' })
    expect(await scene.admin.rows(`SELECT * FROM public.${schema}`)).toEqual([])
    expect(await scene.admin.rows(`SELECT ${table}::oid::text`)).toEqual([[oid]])
  })

  it('are published if PostgreSQL can hold them, and the others are named', async () => {
    const models = await mkdtemp(join(app.home, 'models-'))
    for (const [name, columns] of Object.entries(SIZES))
      await writeFile(
        join(models, `${name}.sql`),
        `-- One row.\n-- key: k\n-- columns:\n--   k  none  Key\nSELECT 'k' AS k, ${columns}`,
      )
    const target = newTarget()
    const { warnings } = await publish(target, { settings: { ...SETTINGS, extensions: scene.extensions, models } })
    expect(warnings).toEqual([
      expect.stringMatching(/ receives no models\.many \(.*models\.named \(.*models\.texts \(.*models\.wide \(/),
    ])
    const tables = `SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = '${target.schema}_models'::regnamespace ORDER BY 1`
    expect((await scene.admin.rows(tables)).flat()).toEqual(['held_nulls', 'held_texts'])
  })
})
