import { execFile, spawn } from 'node:child_process'
import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, describe, expect, it } from 'vitest'
import { warehouseFile } from '../../../src/warehouse/warehouse-file.ts'
import { folderOfFile } from '../../of-file.ts'
import { isDeep } from '../../tier.ts'
import { MAIN, temporaryFolder } from '../cli-process.ts'
import { inProcess } from '../in-process.ts'

const home = await folderOfFile()
const env = { CONVOHOUSE_HOME: home }

beforeAll(async () => (await DuckDBInstance.create(warehouseFile(home))).closeSync())

/** The usual tier tests one format that this process writes and one that DuckDB writes. */
const FORMATS = isDeep ? ['csv', 'json', 'arrow', 'parquet'] : ['csv', 'parquet']
const answerTo = (file: string, format: string) =>
  inProcess(['query', 'SELECT 1 AS a', '-o', file, '--format', format], { env })

describe.each(FORMATS)('query -o in %s', format => {
  it('rejects a path that cannot be written, before the query runs', async () => {
    const folder = await temporaryFolder()
    await mkdir(join(folder, 'kept'))
    for (const [place, why] of [
      ['missing/x', 'ENOENT'],
      ['kept', 'it is a folder'],
      [`${'n'.repeat(300)}`, 'ENAMETOOLONG'],
    ]) {
      const { code, stderr } = await inProcess(
        ['query', 'SELECT broken', '-o', join(folder, place!), '--format', format],
        {
          env,
        },
      )
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(`error FLAG_INVALID: .*${why}`) })
    }
    expect(await readdir(folder)).toEqual(['kept'])
  })

  it('replaces an existing file, also behind a link, by one that only its owner can read', async () => {
    const folder = await temporaryFolder()
    const [file, link] = [join(folder, 'answer'), join(folder, 'link')]
    await writeFile(file, 'old')
    await chmod(file, 0o644)
    await symlink(file, link)
    const { code, stderr } = await answerTo(link, format)
    expect([code, stderr]).toEqual([0, expect.stringContaining(', which only you can read (mode 0600)')])
    expect((await lstat(link)).isSymbolicLink()).toBe(true)
    expect(await readFile(file, 'utf8')).not.toBe('old')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await readdir(folder)).sort()).toEqual(['answer', 'link'])
  })

  it('replaces no pipe and no device', async () => {
    const pipe = join(await temporaryFolder(), 'pipe')
    await promisify(execFile)('mkfifo', [pipe])
    const { code, stderr } = await answerTo(pipe, format)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('it is not a file') })
    expect((await lstat(pipe)).isFIFO()).toBe(true)
  })

  it('keeps the existing file if the query fails', async () => {
    const file = join(await temporaryFolder(), 'answer')
    await writeFile(file, 'old')
    const late = "SELECT CASE WHEN range < 90000 THEN 1 ELSE ('x' || range)::INTEGER END AS n FROM range(100000)"
    expect((await inProcess(['query', late, '-o', file, '--format', format], { env })).stderr).toContain('SQL_INVALID')
    expect(await readFile(file, 'utf8')).toBe('old')
  })

  it('reports that the disk is full, and leaves no file behind', async () => {
    const folder = await temporaryFolder()
    // Limits files to 64 blocks of 1,024 bytes: the command reports an exceeded limit as it reports a full disk.
    const line = `trap '' XFSZ; ulimit -f 64; exec "${process.execPath}" "${MAIN}" query "SELECT uuid() AS u FROM range(100000)" -o "${join(folder, 'x')}" --format ${format}`
    const failed = await promisify(execFile)('bash', ['--norc', '-c', line], {
      env: { PATH: process.env.PATH, ...env },
    }).catch(error => error as { code: number; stderr: string })
    expect(failed).toMatchObject({
      stderr: expect.stringMatching(
        /error (FLAG_INVALID|HOME_UNUSABLE): .*x cannot be written: the maximum file size is exceeded \(EFBIG\)/,
      ),
    })
    expect(await readdir(folder)).toEqual([])
  })

  it('exits cleanly if its reader takes only the first bytes', async () => {
    const line = `"${process.execPath}" "${MAIN}" query "FROM range(1000000)" --format ${format} | head -c 9; echo " \${PIPESTATUS[0]}"`
    const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', line], {
      env: { PATH: process.env.PATH, ...env },
    })
    expect({ end: stdout.slice(-3), stderr }).toEqual({ end: ' 0\n', stderr: '' })
  })
})

describe.runIf(isDeep)('a query with very many rows', () => {
  it.each(['csv', 'ndjson', 'arrow'])('needs no more memory than one with fewer, as %s', async format => {
    const peak = async (rows: number) => {
      const sql = `SELECT range AS n, repeat('x', 100) AS t FROM range(${rows})`
      // Makes the process print its maximum resident set, in KiB, when it exits.
      const report = 'process.on("exit", () => process.stderr.write(String(process.resourceUsage().maxRSS)))'
      const args = ['--import', `data:text/javascript,${report}`, MAIN, 'query', sql, '--format', format]
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
      let printed = ''
      for await (const piece of child.stderr) printed += piece
      return Number(printed)
    }
    // Kept rows would take 300 MB; how soon the collector runs depends on the load of the machine.
    expect(await peak(3_000_000)).toBeLessThan((await peak(300_000)) + 160_000)
  })
})
