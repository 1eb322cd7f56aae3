// The target `postgres` on failures: the password, rights, TLS, the network.
import { execFile, spawnSync } from 'node:child_process'
import { chmod, chown, copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import type { PostgresTarget } from '../../src/config/targets/postgres.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { patchedTarget } from '../publish/patched-target.ts'
import { SETTINGS } from '../publish/published.ts'
import { landConversations } from '../warehouse/landed-pages.ts'
import { describeWithPostgres, failureOf, load, postgresScene } from './postgres-scene.ts'
import { clientOf } from './postgres-server.ts'

const scene = postgresScene()
const { app, publish, newTarget } = scene
const run = promisify(execFile)

/** True if the machine can run processes without a network. */
const HAS_NAMESPACES = spawnSync('unshare', ['--mount', '--net', 'true']).status === 0
const NO_NAMESPACES = 'unshare is not allowed here: it needs root'

const CERTIFICATE = join(import.meta.dirname, '../cli/self-signed.pem')
const DIST = join(import.meta.dirname, '../../dist/src')

/** Returns the text of a failure with its hint; it must not contain the password. */
async function failureText(target: PostgresTarget, options = {}): Promise<string> {
  const { code, message, hint } = await failureOf(publish(target, options))
  const text = `${code} ${message} ${hint}`
  expect(text).not.toContain(scene.server.password)
  return text
}

describeWithPostgres('a target in PostgreSQL that cannot be reached', () => {
  it('is reported with a hint, and is published to as soon as the password in its file is the new one', async () => {
    const passwordFile = join(app.home, 'loader-password')
    await scene.admin.execute(
      `CREATE ROLE loader LOGIN PASSWORD 'first-s3cret'; GRANT CREATE ON DATABASE postgres TO loader;
       ALTER ROLE loader SET quote_all_identifiers = on; ALTER ROLE loader SET search_path = ''`,
    )
    const target = newTarget({ passwordFile }, { user: 'loader' })
    await writeFile(passwordFile, 'first-s3cret\n')
    expect(await publish(target)).toMatchObject({ kind: 'refill' })
    await scene.admin.execute(`ALTER ROLE loader PASSWORD 'second-s3cret'`)
    const text = await failureText(target)
    expect(text).toMatch(/TARGET_UNUSABLE .*password authentication failed.*loader-password/)
    expect(text).not.toContain('s3cret')
    await writeFile(passwordFile, 'second-s3cret')
    expect(await publish(target)).toMatchObject({ kind: 'current' })
    expect(await publish(target, { refill: true, verify: true })).toMatchObject({ reason: 'requested' })
  })

  it('is reported: no right to create a schema; and an extension that is not in the folder', async () => {
    await scene.admin.execute(`CREATE ROLE weak LOGIN PASSWORD 'weak-s3cret'`)
    const passwordFile = join(app.home, 'weak-password')
    await writeFile(passwordFile, 'weak-s3cret')
    expect(await failureText(newTarget({ passwordFile }, { user: 'weak' }))).toMatch(
      /permission denied for database.*Grant it to weak/,
    )
    const settings = { ...SETTINGS, extensions: app.home }
    expect(await failureText(newTarget(), { settings })).toMatch(
      /EXTENSION_UNAVAILABLE There is no extension .*CONVOHOUSE_EXTENSIONS/,
    )
    await writeFile(join(app.home, 'postgres_scanner.duckdb_extension'), 'not an extension')
    expect(await failureText(newTarget(), { settings })).toMatch(
      /EXTENSION_UNAVAILABLE The extension .* cannot be loaded/,
    )
  })

  it('never shows its password: not in statements, the log of the server, records of publications, or the state of the process', async () => {
    const { server, admin } = scene
    admin.close()
    await server.stop()
    await server.start(['-c', 'log_statement=all', '-c', 'log_connections=on'])
    const target = newTarget()
    const state = join(app.home, 'state')
    const entry = await patchedTarget(
      app.home,
      'spy',
      `if (!step.startsWith('COMMIT')) return
      const databases = (await connection.runAndReadAll('FROM duckdb_databases()')).getRowsJson()
      const ofProcess = ['environ', 'cmdline'].map(name => readFileSync('/proc/self/' + name, 'latin1'))
      writeFileSync(${JSON.stringify(state)}, JSON.stringify([databases, ofProcess]))`,
    )
    await publish(target, { entry })
    const records = JSON.stringify(await app.warehouse.writer.rows('FROM _publications'))
    const found = await readFile(state, 'latin1')
    expect(found).toContain("user='admin'")
    expect(server.output()).toContain('CREATE TABLE')
    for (const text of [server.output(), records, found]) expect(text).not.toContain(server.password)
    scene.admin = await clientOf(server, server)
  })
})

describeWithPostgres('a server that demands TLS', () => {
  it('is published to with its certificate verified, and not under another name or without TLS', async () => {
    const { server } = scene
    const own = join(server.folder, 'server.pem')
    await copyFile(CERTIFICATE, own)
    await chmod(own, 0o600)
    if (process.getuid?.() === 0) await chown(own, 65_534, 65_534)
    const rules = join(server.folder, 'data', 'pg_hba.conf')
    const before = await readFile(rules, 'utf8')
    await writeFile(rules, 'hostssl all all all scram-sha-256\n')
    scene.admin.close()
    await server.stop()
    await server.start(['-c', 'ssl=on', '-c', `ssl_cert_file=${own}`, '-c', `ssl_key_file=${own}`])
    const verified = { sslmode: 'verify-full', sslrootcert: CERTIFICATE } as const
    const target = newTarget({}, verified)
    expect(await publish(target)).toMatchObject({ kind: 'refill' })
    expect(
      await publish({ ...target, connection: { ...target.connection, sslmode: 'require', sslrootcert: null } }),
    ).toMatchObject({ kind: 'current' })
    expect(await failureText(newTarget({}, { ...verified, host: 'localhost' }))).toMatch(
      /TARGET_UNUSABLE .*127\.0\.0\.1.*does not match host name/,
    )
    expect(await failureText(newTarget({}, { sslmode: 'disable' }))).toMatch(/no encryption.*`sslmode` is disable/)
    await writeFile(rules, before)
    await server.stop()
    await server.start()
    scene.admin = await clientOf(server, server)
  })
})

describeWithPostgres('the command in an image', () => {
  it('publishes with a read-only root, without HOME and without a network, with the extension from its folder', async ({
    skip,
  }) => {
    skip(!HAS_NAMESPACES, NO_NAMESPACES)
    const home = join(app.home, 'image')
    const { server, extensions } = scene
    const config = join(app.home, 'convohouse.yaml')
    const workspaces = [{ id: 'ws', apiUrl: 'http://127.0.0.1:9', token: { env: 'TOKEN' } }]
    const place = {
      host: server.folder,
      port: server.port,
      database: 'postgres',
      user: 'admin',
      passwordFile: 'password',
    }
    const targets = [{ name: 'image', type: 'postgres', schema: 'image', ...place }]
    await writeFile(config, JSON.stringify({ home, threads: 1, targets, workspaces }))
    const main = join(DIST, 'cli/convohouse.cjs')
    const command = (env: Record<string, string>) =>
      run(
        'unshare',
        [
          '--mount',
          '--net',
          'sh',
          '-c',
          'mount --bind "$0" "$0" && mount -o remount,bind,ro / && exec "$@"',
          app.home,
          process.execPath,
          main,
          'publish',
          '--verify',
          '--config',
          config,
        ],
        {
          env: { PATH: process.env.PATH!, ...env },
        },
      ).then(
        ({ stdout }) => stdout,
        error => `${error.code} ${error.stderr}`,
      )
    await landConversations(openLanding(home).workspace('ws'), { records: [{ ID: 'a' }] })
    await run(process.execPath, [main, 'replay', '--config', config], { env: { PATH: process.env.PATH! } })
    expect(await command({})).toMatch(/^6 [\s\S]*EXTENSION_UNAVAILABLE[\s\S]*cannot be downloaded/)
    expect(await command({ CONVOHOUSE_EXTENSIONS: extensions })).toMatch(/^image: written from empty .*all equal\n$/)
  })
})

describeWithPostgres("an owner's change of a published table", () => {
  it.each([
    ['ALTER COLUMN messages_num TYPE text', 'TARGET_CHANGED', /ALTER COLUMN "messages_num" TYPE bigint/],
    ['RENAME COLUMN user_name TO name', 'TARGET_CHANGED', /--refill/],
    ['ADD CHECK (user_name IS NULL) NOT VALID', 'TARGET_UNUSABLE', /^Drop that constraint/],
  ])('(%s) is named with the way to repair it', async (change, code, hint) => {
    const place = app.workspace()
    await load(place, [{ ID: 'a', userName: 'Ann' }])
    const target = newTarget()
    await publish(target)
    await scene.admin.execute(`ALTER TABLE ${target.schema}.conversations ${change}`)
    await load(place, [{ ID: 'a', userName: 'Amy' }], 1)
    const error = await failureOf(publish(target))
    expect([error.code, error.hint]).toEqual([code, expect.stringMatching(hint)])
  })
})

describeWithPostgres('a schema', () => {
  it.each(['user', 'all'])('may be named %s, like a reserved word', async schema => {
    const target = newTarget({ schema })
    expect(await publish(target)).toMatchObject({ kind: 'refill' })
    expect(await publish(target)).toMatchObject({ kind: 'current' })
  })
})
