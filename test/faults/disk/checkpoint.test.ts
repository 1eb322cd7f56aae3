// A checkpoint fails on a full disk. DuckDB then refuses every statement until the file is opened again: by the next
// command, or by the process with which `up`, `worker` and `sync --watch` replace the one that holds the warehouse.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MAIN, temporaryFolder } from '../../cli/cli-process.ts'
import { smallDisks, whyNoDisk } from './small-disk.ts'

const noDisk = whyNoDisk()
if (noDisk) console.warn(`skipped, a checkpoint on a full disk: ${noDisk}`)

const [OPEN, FAULT] = ['open.js', 'fault.js'].map(file => join(MAIN, '..', '..', 'warehouse', file))

/**
 * Returns a script that prints the outcome of each step as JSON: it writes, fills the disk, lets a checkpoint fail
 * while a reader is open, writes again, frees the disk and opens the file again.
 */
const script = (home: string): string => `
  import { rmSync, statfsSync, writeFileSync } from 'node:fs'
  import { openWarehouse } from ${JSON.stringify(OPEN)}
  import { isInvalidated } from ${JSON.stringify(FAULT)}
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
  results.push(isInvalidated(await instance.connect().catch(error => error)))
  await close()
  const again = await openWarehouse({ home, memoryLimit: '448MB', threads: 1 })
  results.push(...(await again.writer.rows('SELECT count(*)::INTEGER AS n FROM t')))
  await again.close()
  console.log(JSON.stringify(results))`

describe.skipIf(noDisk)('a checkpoint that fails on a full disk', () => {
  it('is reported, loses nothing, and makes the process that holds the warehouse end', async () => {
    const home = join(await temporaryFolder(), 'data')
    const disk = await smallDisks([home])
    const [command, ...args] = [...disk.through, process.execPath, '--input-type=module', '--eval', script(home)]
    const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let stdout = ''
    child.stdout.on('data', text => {
      stdout += text
    })
    await once(child, 'close')
    expect(JSON.parse(stdout)).toEqual(['HOME_UNUSABLE', 'HOME_UNUSABLE', true, { n: 4_000 }])
  })
})
