// A checkpoint fails on a full disk. DuckDB then refuses every statement until the database file is reattached, which convohouse
// does as soon as possible.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MAIN, temporaryFolder } from '../../cli/cli-process.ts'
import { smallDisks, whyNoDisk } from './small-disk.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, a checkpoint on a full disk: ${noDisk}`)

const OPEN = join(MAIN, '..', '..', 'warehouse', 'open.js')

/**
 * Writes, fills the disk, lets a checkpoint fail while a reader is open, and writes again; prints the outcome of each step as JSON.
 */
const script = (home: string): string => `
  import { rmSync, statfsSync, writeFileSync } from 'node:fs'
  import { openWarehouse } from ${JSON.stringify(OPEN)}
  const home = ${JSON.stringify(home)}
  const { writer, instance, close } = await openWarehouse({ home, memoryLimit: '448MB', threads: 1 })
  const write = sql => writer.transaction(() => writer.run(sql)).then(() => 'written', error => error.code)
  await write('CREATE TABLE t AS SELECT range AS i, md5(range::VARCHAR) AS s FROM range(2000)')
  const reader = await instance.connect()
  await reader.run('BEGIN')
  await reader.run('SELECT count(*) FROM t')
  await write('INSERT INTO t SELECT range, md5(range::VARCHAR) FROM range(2000)')
  const { bavail, bsize } = statfsSync(home)
  writeFileSync(home + '/ballast', Buffer.alloc(bavail * bsize))
  const results = [await writer.exclusively(() => writer.run('CHECKPOINT warehouse')).then(() => 'written', error => error.code)]
  results.push(await write('INSERT INTO t VALUES (1, NULL)'))
  rmSync(home + '/ballast')
  await reader.run('ROLLBACK').catch(() => {})
  reader.closeSync()
  results.push(await write('INSERT INTO t VALUES (2, to_moment(1)::VARCHAR)'))
  results.push(...(await writer.rows('SELECT count(*)::INTEGER AS n FROM t')), ...(await (await instance.connect()).runAndReadAll('SELECT count(*)::INTEGER AS n FROM t')).getRowObjects())
  await close()
  const again = await openWarehouse({ home, memoryLimit: '448MB', threads: 1 })
  results.push(...(await again.writer.rows('SELECT count(*)::INTEGER AS n FROM t')))
  await again.close()
  console.log(JSON.stringify(results))`

describe.skipIf(noDisk)('a checkpoint that fails on a full disk', () => {
  it('is reported, loses nothing, and keeps this process from the warehouse only while the disk is full', async () => {
    const home = join(await temporaryFolder(), 'data')
    const disk = await smallDisks([home])
    const [command, ...args] = [...disk.through, process.execPath, '--input-type=module', '--eval', script(home)]
    const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let stdout = ''
    child.stdout.on('data', text => {
      stdout += text
    })
    await once(child, 'close')
    const n = 4_001
    expect(JSON.parse(stdout)).toEqual(['HOME_UNUSABLE', 'HOME_UNUSABLE', 'written', { n }, { n }, { n }])
  })
})
