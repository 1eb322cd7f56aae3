// The target `postgres`, with a real server.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { placeFindings } from '../../src/cli/doctor/targets.ts'
import type { PostgresTarget } from '../../src/config/targets/postgres.ts'
import type { Config } from '../../src/config.ts'
import { openTarget } from '../../src/publish/target-client.ts'
import { registerConsumer, removeConsumer } from '../../src/warehouse/changes/consumers.ts'
import { eraseRecords } from '../../src/warehouse/maintenance/erase-records.ts'
import { CANARY, personalColumns, plantCanaries } from '../publish/canaries.ts'
import { DEFAULT, ENTRY, publishTo, SETTINGS } from '../publish/published.ts'
import { applyTo, eventOf } from '../warehouse/events/events-in.ts'
import { AGENT, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import type { Workspace } from '../warehouse/temporary-warehouse.ts'
import { describeWithPostgres, failureOf, load, postgresScene } from './postgres-scene.ts'

const scene = postgresScene()
const { app, publish, newTarget } = scene

const contactsIn = (target: PostgresTarget, { id }: Workspace) =>
  scene.admin.rows(
    `SELECT conversation_id, user_name FROM ${target.schema}.conversations WHERE workspace_id = '${id}' ORDER BY 1`,
  )

describeWithPostgres('a target in PostgreSQL', () => {
  it('is written once, and then receives what changed, with equal counts and checksums', async () => {
    const place = app.workspace()
    const target = newTarget()
    await load(place, [
      { ID: 'a', userName: 'Ann', tags: ['x', 'y'] },
      { ID: 'b', userName: 'Bob' },
    ])
    expect(await publish(target)).toMatchObject({ kind: 'refill', reason: 'no watermark' })
    expect(await publish(target)).toMatchObject({ kind: 'current', rows: 0 })
    const changed = [
      { ID: 'b', userName: 'Bea', tags: ['z'] },
      { ID: 'c', userName: 'Cy' },
    ]
    await load(place, changed, 1)
    await applyTo(place, eventOf('lead_captured', { agentId: AGENT, leadName: 'Lea', createdAt: SENT_AT_MS }))
    const report = await publish(target)
    expect(report).toMatchObject({ kind: 'delta', reason: null })
    expect(report.verified).toBeGreaterThan(50)
    expect(await contactsIn(target, place)).toEqual([
      ['a', 'Ann'],
      ['b', 'Bea'],
      ['c', 'Cy'],
    ])
    const tags = `SELECT tag FROM ${target.schema}.conversation_tags WHERE workspace_id = '${place.id}' ORDER BY 1`
    expect(await scene.admin.rows(tags)).toEqual([['x'], ['y'], ['z']])
    expect(await scene.admin.rows(`SELECT lead_name FROM ${target.schema}.leads`)).toEqual([['Lea']])
    const [, , daily] = await scene.admin.rows(
      `SELECT conversation_id FROM ${target.schema}_marts.fct_conversations ORDER BY 1`,
    )
    expect(daily).toEqual(['c'])
  })

  it('is refused to a target that reaches it under another name of its server, or under its own in another data folder', async () => {
    const target = newTarget()
    await publish(target)
    const other = newTarget({ schema: target.schema }, { host: 'localhost' })
    const error = await failureOf(publish(other))
    expect([error.code, error.message]).toEqual([
      'TARGET_UNUSABLE',
      `localhost:${scene.server.port}/postgres, schema ${target.schema} is written by the target ${target.name}.`,
    ])
    expect((await publish(target)).kind).toBe('current')
    const elsewhere = publishTo({ ...app, home: join(app.home, 'elsewhere') }, target, {
      settings: { ...SETTINGS, extensions: scene.extensions },
    })
    expect((await failureOf(elsewhere)).message).toMatch(/ of another data folder\.$/)
    await removeConsumer(app.warehouse.writer, `target/${target.name}`)
    expect(await publish(other)).toMatchObject({ kind: 'delta', rows: 0 })
  })

  it('is tested by doctor: password, TLS, schemas of others, and rights, which the hint grants', async () => {
    const { home } = app
    const config = { home, threads: 1, publish: SETTINGS, extensions: scene.extensions } as unknown as Config
    const finding = async (target: PostgresTarget) => {
      const options = { config, target, offline: false, entry: ENTRY }
      const [found] = await placeFindings(options)
      expect(JSON.stringify(found)).not.toContain(scene.server.password)
      return found!
    }
    const target = newTarget()
    const good = {
      state: 'ok',
      found: expect.stringMatching(/can be written as admin \(PostgreSQL 18\.\d+, without TLS\)$/),
    }
    expect(await finding(target)).toMatchObject(good)
    const { connection } = target
    const wrong = (changed: Partial<PostgresTarget['connection']>) =>
      finding({ ...target, connection: { ...connection, ...changed } })
    expect(await wrong({ port: 1 })).toMatchObject({
      code: 'TARGET_UNUSABLE',
      found: expect.stringContaining('refused'),
    })
    expect(await wrong({ sslmode: 'require' })).toMatchObject({ hint: expect.stringContaining('sslmode') })
    expect(await wrong({ user: 'nobody' })).toMatchObject({ hint: expect.stringContaining('password') })
    expect(await finding({ ...target, passwordFile: join(home, 'none') })).toMatchObject({ code: 'SECRET_MISSING' })

    const role = `limited_${target.schema}`
    await scene.admin.execute(`CREATE ROLE ${role} LOGIN PASSWORD '${scene.server.password}';
      ALTER ROLE ${role} SET default_transaction_read_only = on;
      REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC; CREATE SCHEMA ${target.schema}`)
    try {
      const refused = await failureOf(publish({ ...target, connection: { ...connection, user: role } }))
      expect([refused.message, refused.hint]).toEqual([
        expect.stringContaining('read-only transaction'),
        expect.stringContaining(`ALTER ROLE ${role} SET default_transaction_read_only = off`),
      ])
      const limited = await wrong({ user: role })
      expect(limited).toMatchObject({ code: 'TARGET_UNUSABLE', found: expect.stringContaining(`${role} lacks rights`) })
      const grants = /^As an administrator: (.*)\.$/.exec(limited.hint!)![1]!
      await scene.admin.execute(grants)
      expect(await wrong({ user: role })).toMatchObject({ state: 'ok' })
      expect(await publish({ ...target, connection: { ...connection, user: role } })).toMatchObject({ kind: 'refill' })
      await scene.admin.execute(`CREATE SCHEMA foreign_${role}; CREATE TABLE foreign_${role}.mine (a int)`)
      expect((await finding({ ...target, schema: `foreign_${role}` })).found).toContain('not written by a publication')
    } finally {
      await scene.admin.execute('GRANT TEMPORARY ON DATABASE postgres TO PUBLIC')
    }
  })

  it('has comments, keys, the indexes that readers need, times with a zone, and the time of its rows', async () => {
    const target = newTarget()
    await publish(target)
    const name = `${target.schema}.conversations`
    const [[comment]] = (await scene.admin.rows(`SELECT obj_description('${name}'::regclass)`)) as [[string]]
    expect(comment).toMatch(/^One row for each conversation/)
    const [[column]] = (await scene.admin.rows(
      `SELECT col_description('${name}'::regclass, (SELECT attnum FROM pg_attribute WHERE attrelid = '${name}'::regclass AND attname = 'user_email'))`,
    )) as [[string]]
    expect(column).toBe('Email address of the contact')
    const definitions = (
      await scene.admin.rows(
        `SELECT regexp_replace(indexdef, '^.*USING ', '') FROM pg_indexes WHERE schemaname = '${target.schema}' AND tablename = 'conversations'`,
      )
    ).flat()
    expect(definitions.sort()).toEqual([
      'btree (agent_id, day)',
      'btree (conversation_id, agent_id, workspace_id)',
      'btree (day)',
      'btree (ts)',
    ])
    const types =
      await scene.admin.rows(`SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_schema = '${target.schema}'
      AND table_name = 'conversations' AND column_name IN ('ts', 'day', 'extra', 'value', 'messages', 'is_test') ORDER BY 1`)
    expect(Object.fromEntries(types as [string, string][])).toMatchObject({
      ...{ ts: 'timestamp with time zone', day: 'date', extra: 'json', value: 'double precision' },
    })
    expect(await scene.admin.rows(`SELECT as_of > '2026-01-01', held FROM ${target.schema}._publication`)).toEqual([
      [true, []],
    ])
  })

  it('holds every value that the warehouse can hold, as PostgreSQL and its clients can read it', async () => {
    const { writer } = app.warehouse
    const target = newTarget()
    const long = 'x'.repeat(20_000)
    await writer.run(`INSERT INTO conversations BY NAME SELECT 'odd' AS workspace_id, 'a' AS agent_id, id AS conversation_id, name AS user_name,
        day::DATE AS day, ts::TIMESTAMP AS ts, extra::JSON AS extra, value::DOUBLE AS value
      FROM (VALUES ('a' || chr(0), 'x' || chr(0) || 'y', '10000-01-01', 'infinity', '{"a\\u0000": "\\\\u0000"}', 'nan'),
        ('a\uFFFD', '', '0001-01-01 (BC)', '290000-01-01 (BC)', '[]', '-inf'),
        ('${long}', '🙂', '9999-12-31', '9999-12-31 23:59:59.999999', 'null', '-0.0'),
        ('n', NULL, NULL, NULL, NULL, NULL)) t(id, name, day, ts, extra, value)`)
    expect(await publish(target)).toMatchObject({ kind: 'refill' })
    const rows =
      await scene.admin.rows(`SELECT conversation_id, user_name, day::text, ts::text, (extra::jsonb)::text, value::text
      FROM ${target.schema}.conversations WHERE workspace_id = 'odd' ORDER BY length(conversation_id)`)
    expect(rows.map(([, ...rest]) => rest)).toEqual([
      [null, null, null, null, null],
      ['', null, null, '[]', '-Infinity'],
      ['x\uFFFDy', null, null, '{"a\uFFFD": "\\\\u0000"}', 'NaN'],
      ['🙂', '9999-12-31', '9999-12-31 23:59:59.999999+00', 'null', '-0'],
    ])
    expect(new Set(rows.map(([id]) => id)).size).toBe(4)
    await writer.run(`DELETE FROM conversations WHERE workspace_id = 'odd'`)
    expect(await publish(target, { refill: true })).toMatchObject({ reason: 'requested' })
  })
})

describeWithPostgres("what is not convohouse's", () => {
  it('stays: views, grants and indexes on the tables, through a refill with a new policy and with a column that is missing', async () => {
    const place = app.workspace()
    const target = newTarget()
    const { schema } = target
    await load(place, [{ ID: 'a', userName: 'Ann' }])
    await publish(target)
    const role = `reader_${schema}`
    await scene.admin.execute(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT ON ${schema}.conversations TO ${role};
      CREATE VIEW public.view_${schema} AS SELECT conversation_id, user_name FROM ${schema}.conversations;
      CREATE INDEX mine ON ${schema}.conversations (user_name); ALTER TABLE ${schema}.conversations DROP COLUMN user_company, ADD COLUMN mine text`)
    const table = `SELECT '${schema}.conversations'::regclass::oid::text`
    const before = await scene.admin.rows(table)
    const dropping = { ...target, pii: { ...target.pii, identity: 'drop' as const } }
    expect(await publish(dropping)).toMatchObject({ kind: 'refill', reason: 'other policy' })
    expect(await scene.admin.rows(table)).toEqual(before)
    const view = `SELECT user_name FROM public.view_${schema} WHERE conversation_id = 'a'`
    expect((await scene.admin.rows(view)).flat()).toContain(null)
    expect((await scene.admin.rows(view)).flat()).not.toContain('Ann')
    expect(
      await scene.admin.rows(`SELECT has_table_privilege('${role}', '${schema}.conversations', 'SELECT')`),
    ).toEqual([[true]])
    expect(
      await scene.admin.rows(
        `SELECT count(*)::int FROM pg_indexes WHERE indexname = 'mine' AND schemaname = '${schema}'`,
      ),
    ).toEqual([[1]])
    expect(await publish(target)).toMatchObject({ kind: 'refill', reason: 'other policy' })
    expect((await scene.admin.rows(view)).flat()).toContain('Ann')
  })

  it('is a column of another type: it is not altered, and its table is published again once it has been renamed', async () => {
    const target = newTarget()
    await publish(target)
    const table = `${target.schema}.conversations`
    await scene.admin.execute(`ALTER TABLE ${table} DROP COLUMN lost_reason, ADD COLUMN lost_reason integer`)
    const error = await failureOf(publish(target, { refill: true }))
    expect([error.code, error.message]).toEqual([
      'TARGET_UNUSABLE',
      expect.stringMatching(/lost_reason .* integer, but text/),
    ])
    expect(error.hint).toContain(`ALTER TABLE ${table} RENAME COLUMN lost_reason TO lost_reason_earlier`)
    await scene.admin.execute(`ALTER TABLE ${table} RENAME COLUMN lost_reason TO lost_reason_earlier`)
    expect(await publish(target, { refill: true })).toMatchObject({ kind: 'refill' })
  })

  it('is never touched: a schema with tables of somebody else, or a table whose name is taken', async () => {
    const target = newTarget()
    await scene.admin.execute(`CREATE SCHEMA ${target.schema}; CREATE TABLE ${target.schema}.precious AS SELECT 1 AS x`)
    const error = await failureOf(publish(target))
    expect([error.code, error.message]).toEqual([
      'TARGET_UNUSABLE',
      expect.stringContaining('precious was not written by a publication'),
    ])
    expect(await scene.admin.rows(`SELECT x FROM ${target.schema}.precious`)).toEqual([[1]])

    const other = newTarget()
    await publish(other)
    await scene.admin.execute(
      `DELETE FROM ${other.schema}._publication_tables WHERE name = 'leads'; DELETE FROM ${other.schema}._publication`,
    )
    expect((await failureOf(publish(other))).message).toContain(
      `${other.schema}.leads was not written by a publication`,
    )
  })

  it('may be a table that somebody dropped: it is created and the target written from empty', async () => {
    const target = newTarget()
    await publish(target)
    await scene.admin.execute(`DROP TABLE ${target.schema}.leads`)
    expect(await publish(target)).toMatchObject({ kind: 'refill', reason: 'no watermark' })
    await scene.admin.execute(
      `DELETE FROM ${target.schema}.agents; INSERT INTO ${target.schema}.teams (workspace_id, team_id) VALUES ('x', 'y')`,
    )
    expect((await failureOf(publish(target))).code).toBe('PUBLICATION_DIFFERS')
    expect(await publish(target, { refill: true })).toMatchObject({ reason: 'requested' })
  })
})

describeWithPostgres('a publication to PostgreSQL', () => {
  it('deletes erased records, and all rows of tables that the target no longer receives', async () => {
    const place = app.workspace()
    const target = newTarget()
    await load(place, [
      { ID: 'a', userName: 'Ann' },
      { ID: 'b', userName: 'Bob' },
    ])
    await applyTo(place, eventOf('lead_captured', { agentId: AGENT, leadName: 'Lia', createdAt: SENT_AT_MS }))
    await publish(target)
    const records = [{ table: 'conversations', key: [AGENT, 'a'] }]
    await eraseRecords(app.warehouse.writer, { workspaceId: place.id, records, nowMs: SENT_AT_MS })
    expect(await publish(target)).toMatchObject({ kind: 'delta' })
    expect(await contactsIn(target, place)).toEqual([['b', 'Bob']])
    const filtered = { ...target, rows: { agents: ['nobody'], organizations: [] } }
    expect(await publish(filtered)).toMatchObject({ kind: 'refill', reason: 'other policy', rows: 0 })
    for (const table of ['conversations', 'leads', 'webhook_events'])
      expect(await scene.admin.rows(`SELECT count(*)::int FROM ${target.schema}.${table}`), table).toEqual([[0]])
  })

  it('keeps the earlier rows of a table while a check that blocks it fails', async () => {
    const { writer } = app.warehouse
    const place = app.workspace()
    const target = newTarget()
    await load(place, [{ ID: 'a', userName: 'Ann' }])
    await publish(target)
    await writer.run(`INSERT INTO _checks BY NAME SELECT 'tags_unique' AS name, '' AS about, 'conversation_tags' AS table_name, 'error' AS severity,
      true AS blocks, 'failed' AS outcome, 'all' AS scope, '[]' AS examples, now()::TIMESTAMP AS checked_at, 0 AS duration_ms`)
    await load(place, [{ ID: 'a', userName: 'Amy' }], 1)
    expect(await publish(target)).toMatchObject({ kind: 'delta', held: ['conversations'] })
    expect(await contactsIn(target, place)).toEqual([['a', 'Ann']])
    expect(await scene.admin.rows(`SELECT held FROM ${target.schema}._publication`)).toEqual([[['conversations']]])
    await writer.run('DELETE FROM _checks')
    expect(await publish(target)).toMatchObject({ kind: 'delta', held: [] })
    expect(await contactsIn(target, place)).toEqual([['a', 'Amy']])
  })

  it('runs beside no other one, and one that is late undoes nothing', async () => {
    const place = app.workspace()
    const target = newTarget()
    await registerConsumer(app.warehouse.writer, 'slow')
    await load(place, [{ ID: 'a', userName: 'Ann' }])
    await publish(target)
    const lock = `SELECT pg_advisory_xact_lock(hashtextextended('convohouse ${target.schema}', 0))::text`
    await scene.admin.within(async () => {
      await scene.admin.rows(lock)
      expect((await failureOf(publish(target))).code).toBe('TARGET_LOCKED')
    })

    const settings = { memoryLimit: '256MB', threads: 1, spillFolder: join(app.home, 'spill') }
    const places = { extensions: { folder: scene.extensions, cache: join(app.home, 'extensions') } }
    const { signal } = new AbortController()
    const late = await openTarget({ target, ...settings, ...places }, { signal, entry: ENTRY })
    const base = late.watermark!
    await load(place, [{ ID: 'a', userName: 'Amy' }], 1)
    await publish(target)
    const head = { kind: 'delta', base, watermark: { ...base, publicationId: 'late' }, erases: false } as const
    expect((await failureOf(late.apply(head).complete())).code).toBe('TARGET_CHANGED')
    await late.close()
    expect(await contactsIn(target, place)).toEqual([['a', 'Amy']])
    expect(await publish(target)).toMatchObject({ kind: 'current' })
  })
})

describeWithPostgres('personal data in PostgreSQL', () => {
  it('is in no column, no file and no log of the server under a policy that hashes and drops, and in every column under one that keeps', async () => {
    await plantCanaries(app.warehouse.writer)
    const found = async ({ schema }: PostgresTarget) => {
      const columns =
        await scene.admin.rows(`SELECT table_schema::text, table_name::text, column_name::text FROM information_schema.columns
        WHERE table_schema IN ('${schema}', '${schema}_marts') AND table_name NOT LIKE '\\_publication%'`)
      const searches = columns.map(
        ([place, table, column]) =>
          `SELECT '${place === schema ? '' : 'marts.'}${table}.${column}' WHERE EXISTS (SELECT FROM ${place}.${table} WHERE strpos("${column}"::text, '${CANARY}') > 0)`,
      )
      return (await scene.admin.rows(searches.join(' UNION ALL '))).flat().sort()
    }
    /** Also in the write-ahead log. */
    const isInFiles = async () => {
      await scene.admin.execute('CHECKPOINT')
      const data = join(scene.server.folder, 'data')
      for (const file of await readdir(data, { recursive: true, withFileTypes: true }))
        if (file.isFile() && (await readFile(join(file.parentPath, file.name))).includes(CANARY)) return true
      return false
    }
    const [careful, keeping] = [newTarget({ pii: DEFAULT }), newTarget()]
    await publish(careful)
    expect(await found(careful)).toEqual([])
    expect(await isInFiles()).toBe(false)
    await publish(keeping)
    expect(await found(keeping)).toEqual((await personalColumns()).sort())
    expect(await isInFiles()).toBe(true)
  })
})
