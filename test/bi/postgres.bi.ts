// The target `postgres`, with a real server.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { placeFindings } from '../../src/cli/doctor/targets.ts'
import type { PostgresTarget } from '../../src/config/targets/postgres.ts'
import type { Config } from '../../src/config.ts'
import { CANARY, personalColumns, plantCanaries } from '../publish/canaries.ts'
import { DEFAULT, ENTRY, SETTINGS } from '../publish/published.ts'
import { describeTarget } from '../publish/target-contract.ts'
import { describeWithPostgres, failureOf, load, postgresScene } from './postgres-scene.ts'

const scene = postgresScene()
const { app, publish, newTarget } = scene

describeWithPostgres('a target in PostgreSQL', () => {
  describeTarget<PostgresTarget>({
    app,
    newTarget,
    extensions: () => scene.extensions,
    rows: ({ schema }, table, { what, where }) => {
      const place = table.includes('.') ? table.replace('marts.', `${schema}_marts.`) : `${schema}.${table}`
      return scene.admin.rows(`SELECT ${what} FROM ${place} WHERE ${where}`)
    },
    async hasText({ schema }, text) {
      const found = `SELECT 1 FROM ${schema}.conversations t WHERE strpos(t::text, '${text}') > 0
        UNION ALL SELECT 1 FROM ${schema}_marts.fct_conversations t WHERE strpos(t::text, '${text}') > 0`
      return (await scene.admin.rows(found)).length > 0
    },
    async occupy({ schema }) {
      await scene.admin.execute(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.precious AS SELECT 1 AS x`)
      return () => scene.admin.rows(`SELECT x FROM ${schema}.precious`)
    },
    erases: 'delta',
    isLocked: false,
    kills: [
      { step: /^CALL postgres_execute/, count: 3, state: 'old' },
      { step: /^INSERT INTO target/, count: 2, state: 'old' },
      { step: /^COMMIT/, count: 2, state: 'old' },
      { step: /^DETACH/, count: 2, state: 'new' },
    ],
  })

  it('is tested by doctor: password, TLS, schemas of others, and rights', async () => {
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
      found: expect.stringMatching(/can be written \(PostgreSQL 18\.\d+ as admin, without TLS\)$/),
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
      const asRole = { ...target, connection: { ...connection, user: role } }
      const { message } = await failureOf(publish(asRole))
      expect(message).toContain('read-only transaction')
      expect(await finding(asRole)).toMatchObject({ found: expect.stringContaining('read-only transaction') })
      await scene.admin.execute(`ALTER ROLE ${role} SET default_transaction_read_only = off`)
      const grants = [
        `GRANT USAGE, CREATE ON SCHEMA ${target.schema} TO ${role}`,
        `CREATE SCHEMA ${target.schema}_marts AUTHORIZATION ${role}`,
        `GRANT CREATE, TEMPORARY ON DATABASE postgres TO ${role}`,
      ]
      for (const grant of grants) {
        const lacking = {
          code: 'TARGET_UNUSABLE',
          hint: `Grant it to ${role}: docs/targets/postgres.md lists what the role needs.`,
        }
        expect(await finding(asRole), grant).toMatchObject(lacking)
        await scene.admin.execute(grant)
      }
      expect(await finding(asRole)).toMatchObject({ state: 'ok' })
      expect(await publish(asRole)).toMatchObject({ kind: 'refill' })
      expect(await finding(asRole)).toMatchObject({ state: 'ok' })
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
    expect(await scene.admin.rows(`SELECT as_of > '2026-01-01' FROM ${target.schema}._publication`)).toEqual([[true]])
  })

  it('stores every value of the warehouse in a form that PostgreSQL and its clients can read', async () => {
    const { writer } = app.warehouse
    const target = newTarget()
    const long = 'x'.repeat(20_000)
    await writer.run(`INSERT INTO conversations BY NAME SELECT 'odd' AS workspace_id, 'a' AS agent_id, id AS conversation_id, name AS user_name,
        day::DATE AS day, ts::TIMESTAMPTZ AS ts, extra::JSON AS extra, value::DOUBLE AS value
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
      'TARGET_CHANGED',
      expect.stringMatching(/lost_reason .* integer, but text/),
    ])
    expect(error.hint).toMatch(
      /ALTER TABLE "\w+"\."conversations" RENAME COLUMN "lost_reason" TO "lost_reason_earlier"/,
    )
    await scene.admin.execute(`ALTER TABLE ${table} RENAME COLUMN lost_reason TO lost_reason_earlier`)
    expect(await publish(target, { refill: true })).toMatchObject({ kind: 'refill' })
  })

  it('is never touched: a table whose name is taken', async () => {
    const other = newTarget()
    await publish(other)
    await scene.admin.execute(
      `DELETE FROM ${other.schema}._publication_tables WHERE name = 'leads'; DELETE FROM ${other.schema}._publication`,
    )
    expect((await failureOf(publish(other))).message).toContain(
      `${other.schema}.leads was not written by a publication`,
    )
  })

  it('says what to do about marts whose schema beside them somebody dropped', async () => {
    const target = newTarget()
    await publish(target)
    await scene.admin.execute(`DROP SCHEMA ${target.schema} CASCADE`)
    const { message, hint } = await failureOf(publish(target))
    expect(message).toMatch(/_marts\.\w+ is there, but the list of published tables in the schema \w+ is gone\.$/)
    const statement = /`(DROP SCHEMA .* CASCADE)`/.exec(hint!)![1]!
    await scene.admin.execute(statement)
    expect(await publish(target)).toMatchObject({ kind: 'refill' })
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
  it('deletes all rows of tables that the target no longer receives', async () => {
    const target = newTarget()
    await load(app.workspace(), [{ ID: 'a', userName: 'Ann' }])
    await publish(target)
    const filtered = { ...target, rows: { agents: ['nobody'], organizations: [] } }
    expect(await publish(filtered)).toMatchObject({ kind: 'refill', reason: 'other policy', rows: 0 })
    for (const table of ['conversations', 'leads', 'webhook_events'])
      expect(await scene.admin.rows(`SELECT count(*)::int FROM ${target.schema}.${table}`), table).toEqual([[0]])
  })

  it('runs beside no other one', async () => {
    const target = newTarget()
    await publish(target)
    const lock = `SELECT pg_advisory_xact_lock(hashtextextended('convohouse ${target.schema}', 0))::text`
    await scene.admin.within(async () => {
      await scene.admin.rows(lock)
      expect((await failureOf(publish(target))).code).toBe('TARGET_LOCKED')
    })
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
    /** Also searches the write-ahead log. */
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
