import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { tableFromIPC } from 'apache-arrow'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAIN, openCliScene, temporaryFolder } from '../cli-process.ts'
import { inProcess } from '../in-process.ts'

let scene: Awaited<ReturnType<typeof openCliScene>>
let env: Record<string, string>
let folder: string

beforeAll(async () => {
  scene = await openCliScene({ conversations: 60 })
  env = scene.env
  folder = dirname(scene.home)
  expect((await inProcess(['sync'], { env })).code).toBe(0)
  // Proves that queries and status work without the vendor.
  await scene.sandbox.close()
})
afterAll(() => scene.close())

const SQL = "SELECT range AS n, 'a' || range AS x FROM range(2)"

describe('query', () => {
  it('accepts SQL that begins with a comment, with flags before or after it', async () => {
    const answers = (...args: string[]) => inProcess(['query', ...args], { env })
    const [eight, nine] = ['-- why\nSELECT 8 AS n', '--why\nSELECT 9 AS n']
    expect(await answers(eight!, '--format', 'csv')).toEqual({ code: 0, stdout: 'n\r\n8\r\n', stderr: '' })
    expect(await answers('--format', 'csv', nine!)).toEqual({ code: 0, stdout: 'n\r\n9\r\n', stderr: '' })
    expect((await answers('--', eight!)).stdout).toBe('n\r\n8\r\n')
    expect((await answers('--formt', 'csv', eight!)).stderr).toContain("unknown option '--formt'")
  })

  it('reads the SQL from a file or from standard input, but not from two places', async () => {
    const file = join(await temporaryFolder(), 'q.sql')
    await writeFile(file, 'SELECT 7 AS seven')
    expect((await inProcess(['query', '--file', file], { env })).stdout).toBe('seven\r\n7\r\n')
    expect((await inProcess(['query'], { env, stdin: 'SELECT 8 AS eight;\n' })).stdout).toBe('eight\r\n8\r\n')
    const twice = await inProcess(['query', 'SELECT 1', '--file', file], { env })
    expect(twice.stderr).toContain('SQL is given twice')
    expect((await inProcess(['query', '--file', `${file}.not`], { env })).stderr).toContain('cannot be read')
  })

  it('writes a file in the format of its extension, completely or not at all', async () => {
    const out = await temporaryFolder()
    for (const name of ['a.csv', 'a.json', 'a.parquet', 'a.arrow'])
      expect((await inProcess(['query', 'FROM conversations', '-o', join(out, name)], { env })).code).toBe(0)
    expect((await readFile(join(out, 'a.parquet'))).subarray(0, 4).toString()).toBe('PAR1')
    expect(tableFromIPC(await readFile(join(out, 'a.arrow'))).numRows).toBeGreaterThan(40)
    expect(JSON.parse(await readFile(join(out, 'a.json'), 'utf8')).length).toBeGreaterThan(40)
    await inProcess(['query', 'SELECT broken', '-o', join(out, 'b.csv')], { env })
    const unclear = await inProcess(['query', 'SELECT 1', '-o', join(out, 'b.xyz')], { env })
    expect(unclear.stderr).toContain('is not that of a known format')
    expect((await readdir(out)).sort()).toEqual(['a.arrow', 'a.csv', 'a.json', 'a.parquet'])
  })

  it('writes the random-access format of Arrow to files, and a stream elsewhere', async () => {
    const out = await temporaryFolder()
    const head = async (name: string, ...more: string[]) => {
      expect((await inProcess(['query', SQL, '-o', join(out, name), ...more], { env })).code).toBe(0)
      const bytes = await readFile(join(out, name))
      expect(tableFromIPC(bytes).numRows).toBe(2)
      return bytes.subarray(0, 6).toString()
    }
    expect(await head('a.arrow')).toBe('ARROW1')
    expect(await head('a.feather')).toBe('ARROW1')
    expect(await head('a.out', '--format', 'arrow')).toBe('ARROW1')
    expect(await head('a.arrows')).not.toBe('ARROW1')
    const line = `"${process.execPath}" "${MAIN}" query "${SQL}" --format arrow > "${join(out, 'stream')}"`
    await promisify(execFile)('bash', ['--norc', '-c', line], { env: { PATH: process.env.PATH, HOME: folder, ...env } })
    expect((await readFile(join(out, 'stream'))).subarray(0, 4)).toEqual(Buffer.from([255, 255, 255, 255]))
  })

  it('shows where the SQL is wrong, and how to look up names', async () => {
    const table = await inProcess(['query', 'SELECT * FROM conversatons'], { env })
    expect(table.code).toBe(2)
    expect(table.stderr).toMatch(/^error SQL_INVALID: Table with name conversatons/)
    expect(table.stderr).toContain('Did you mean "conversations"?')
    expect(table.stderr).toContain('LINE 1: SELECT * FROM conversatons\n                      ^')
    expect(table.stderr).toContain('SHOW TABLES')
    const column = await inProcess(['query', 'SELECT chanel FROM conversations'], { env })
    expect(column.stderr).toContain('Candidate bindings')
    expect(column.stderr).toContain('convohouse dictionary NAME')
  })

  it('stops at its timeout, and at its maximum number of rows', async () => {
    const slow = 'SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range + b.range < 0'
    const { code, stderr } = await inProcess(['query', slow, '--timeout', '300ms'], { env })
    expect(code).toBe(2)
    expect(stderr).toContain('error QUERY_TIMEOUT')
    const cut = await inProcess(['query', 'FROM range(10)', '--max-rows', '2'], { env })
    expect(cut.stdout.trim().split('\r\n')).toHaveLength(3)
    expect(cut.stderr).toContain('There are more rows')
  })
})

describe('status', () => {
  it('reports coverage, the last run and the quota', async () => {
    const { code, stdout } = await inProcess(['status', '--json'], { env })
    expect(code).toBe(0)
    const [workspace] = JSON.parse(stdout).workspaces
    expect(workspace).toMatchObject({
      workspaceId: 'ws_demo',
      openWindows: 0,
      lastRun: { outcome: 'done' },
      quota: { includedSessions: 50_000 },
      landing: { notLoaded: 0 },
      findings: { quarantined: 0 },
    })
    expect(workspace.agents).toHaveLength(3)
    for (const agent of workspace.agents) expect(agent).toMatchObject({ gaps: [], covered: [{ from: null }] })
    const people = await inProcess(['status'], { env })
    expect(people.stdout).toContain('Workspace ws_demo')
    expect(people.stdout).toContain('the beginning – ')
  })
})

describe('dictionary', () => {
  it('describes the tables, on standard output or in a file', async () => {
    const file = join(await temporaryFolder(), 'dictionary.md')
    const { stdout } = await inProcess(['dictionary'])
    expect(stdout).toContain('## conversations')
    expect((await inProcess(['dictionary', '--output', file])).code).toBe(0)
    expect(await readFile(file, 'utf8')).toBe(stdout)
  })
})
