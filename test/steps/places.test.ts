// The list of places where a data folder may name a person is complete, and docs/privacy.md shows it.
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { spoolFolders } from '../../src/spool/folders.ts'
import { FILE_PLACES, type Place, TABLE_PLACES } from '../../src/steps/forgetting/places.ts'
import { PUBLISHED_TABLES } from '../../src/warehouse/changes/published-tables.ts'
import { cli, scene } from '../cli/cli-process.ts'
import { inProcess, rowsOf } from '../cli/in-process.ts'
import { WORKSPACE } from '../scene.ts'
import { receiveEvents } from '../spool/arbitrary-events.ts'

const patternOf = (name: string): RegExp =>
  new RegExp(`^${name.replace(/[.+]/g, '\\$&').replace(/\*\*|\*/g, star => (star === '*' ? '[^/]*' : '.*'))}$`)

/** Returns the names that no entry has. */
const unnamed = (names: readonly string[], places: readonly Place[]): string[] => {
  const patterns = places.flatMap(place => place.names.map(patternOf))
  return names.filter(name => !patterns.some(pattern => pattern.test(name)))
}

async function filesBelow(home: string): Promise<string[]> {
  const entries = await readdir(home, { recursive: true, withFileTypes: true })
  return entries.filter(entry => !entry.isDirectory()).map(entry => relative(home, join(entry.parentPath, entry.name)))
}

/** Returns the tables of the warehouse, without those of lists in records of others. */
async function tablesOf(env: Record<string, string>): Promise<string[]> {
  const children = new Set(PUBLISHED_TABLES.flatMap(table => table.children))
  const rows = await rowsOf(
    `SELECT concat_ws('.', nullif(schema_name, 'main'), table_name) AS name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY ALL`,
    env,
  )
  return rows.map(({ name }) => String(name)).filter(name => !children.has(name))
}

it('every file below a data folder and every table of the warehouse has an entry in the list of places', async () => {
  const { home, env } = await scene({ conversations: 10, traffic: true }, { resources: 'all' })
  const file = env.CONVOHOUSE_CONFIG!
  const targets = [
    { name: 'bi', type: 'snapshot' },
    { name: 'files', type: 'parquet' },
  ]
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), targets }))
  const run = async (...args: string[]) => {
    const { code, stderr } = await inProcess(args, { env })
    expect(code, stderr).toBe(0)
  }
  const event = { event: 'message_received', createdAt: Date.now(), agentId: 'a', convoId: 'c', messageContent: 'x' }
  await receiveEvents({ home, workspaceId: WORKSPACE, nowMs: Date.now() }, [event])
  const { sealed } = spoolFolders(home, WORKSPACE)
  for (const name of await readdir(sealed)) await appendFile(join(sealed, name), 'damaged\n')
  const failed = { atMs: Date.now(), agentId: 'a', status: 502, body: Buffer.from('<html>') }
  await openLanding(home).workspace(WORKSPACE).landFailed(failed)
  await run('sync', '--yes')
  await run('token', 'create', 'reader')
  await receiveEvents({ home, workspaceId: WORKSPACE, nowMs: Date.now() }, [event])
  const before = await filesBelow(home)
  expect(unnamed(before, FILE_PLACES)).toEqual([])
  for (const part of ['/failed/', '.damaged', '/sealed/', '/drained/', 'access-tokens/'])
    expect(before.join('\n')).toContain(part)
  const [{ email }] = (await rowsOf('SELECT min(user_email) AS email FROM conversations', env)) as [{ email: string }]
  // Processes of targets belong to the built command.
  const forgotten = await cli(['forget', '--email', email, '--yes'], { env })
  expect(forgotten.code, forgotten.stderr).toBe(0)
  const after = await filesBelow(home)
  expect(unnamed(after, FILE_PLACES)).toEqual([])
  for (const part of ['published/', 'publish/', '.forgotten.key']) expect(after.join('\n')).toContain(part)
  expect(after.filter(name => /\/failed\/|\.damaged$|^tmp\/|^query-parts\//.test(name))).toEqual([])
  const tables = await tablesOf(env)
  expect(tables.length).toBeGreaterThan(70)
  expect(unnamed(tables, TABLE_PLACES)).toEqual([])
  const named = TABLE_PLACES.flatMap(({ names }) => names).filter(name => !name.includes('*'))
  expect(named.filter(name => !tables.includes(name))).toEqual([])
})

it('docs/privacy.md shows the list of places', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/privacy.md'), 'utf8')
  for (const places of [FILE_PLACES, TABLE_PLACES]) {
    const rows = places.map(
      ({ names, what, when }) => `| ${names.map(name => `\`${name}\``).join(', ')} | ${what} | ${when} |`,
    )
    expect(page).toContain(rows.join('\n'))
  }
})
