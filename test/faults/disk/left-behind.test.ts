import { spawn } from 'node:child_process'
import { readdir, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { isTemporary } from '../../../src/files/durable.ts'
import { openLanding } from '../../../src/landing/folder-landing.ts'
import { warehouseFile } from '../../../src/warehouse/open.ts'
import { spillFolder, temporaryFolder } from '../../../src/warehouse/temporary-files.ts'
import { landedFile } from '../../landing/landed-file.ts'
import { until } from '../../until.ts'
import { faultScene, syncedScenes } from '../scene.ts'

const BUILT = join(import.meta.dirname, '..', '..', '..', 'dist', 'src')

const synced = syncedScenes({ sandbox: { conversations: 20 } })

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

/** Starts a process that runs `script`, an ES module. The process is killed when the test ends, or earlier by `kill`. */
function processOf(script: string, ...args: string[]) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, ...args], { stdio: 'ignore' })
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()))
  const kill = async () => {
    child.kill('SIGKILL')
    await closed
  }
  onTestFinished(kill)
  return { kill }
}

it('a coerced copy of a killed process is removed by the next sync', async () => {
  const scene = await faultScene({ sandbox: { hostile: { 'wrong-types': 1 }, conversations: 250 } })
  const left = async () => (await namesIn(temporaryFolder(scene.home))).filter(name => name.startsWith('coerced-'))
  // Repeated, because the sync removes the copy when its batch is loaded, possibly between the check and the kill.
  await until(async () => {
    const sync = scene.start(['sync', '--yes'])
    await until(async () => (await left()).length > 0, { everyMs: 5 })
    sync.process.kill('SIGKILL')
    expect((await sync.ended).code).toBeNull()
    return (await left()).length > 0
  })
  expect((await scene.run(['sync', '--yes'])).code).toBe(0)
  expect(await left()).toEqual([])
})

it('spilled files of a killed process are removed by the next sync', async () => {
  const scene = await synced()
  const spilt = () => namesIn(spillFolder(warehouseFile(scene.home)))
  const killed = processOf(
    `const { openWarehouse } = await import(process.argv[1])
    const { writer } = await openWarehouse({ home: process.argv[2], memoryLimit: '80MB', threads: 2 })
    await writer.run('CREATE TEMP TABLE t AS SELECT md5(range::VARCHAR) AS a, md5((range + 1)::VARCHAR) AS b FROM range(90000000) ORDER BY a')`,
    join(BUILT, 'warehouse', 'open.js'),
    scene.home,
  )
  await until(async () => (await spilt()).length > 0)
  await killed.kill()
  expect(await spilt()).not.toEqual([])
  expect((await scene.run(['sync', '--yes'])).code).toBe(0)
  expect(await spilt()).toEqual([])
})

it('a half-written page of a killed process is removed by a later sync, but none that is being written', async () => {
  const scene = await synced()
  const landing = openLanding(scene.home).workspace('ws_demo')
  const [page] = await landing.list('conversations')
  const folder = dirname(landedFile(scene.home, page!.address))
  const left = async () => (await namesIn(folder)).filter(isTemporary)
  const writing = processOf(
    `const { writeOnce } = await import(process.argv[1])
    const part = Buffer.alloc(16)
    await writeOnce(process.argv[2], Array.from({ length: 5_000_000 }, () => part))`,
    join(BUILT, 'files', 'durable.js'),
    join(folder, 'never-whole'),
  )
  await until(async () => (await left()).length > 0)
  expect((await scene.run(['sync', '--yes'])).code).toBe(0)
  expect(await left()).toHaveLength(1)
  await writing.kill()
  const [half] = await left()
  const twoHoursAgo = new Date(Date.now() - 2 * 3_600_000)
  await utimes(join(folder, half!), twoHoursAgo, twoHoursAgo)
  expect((await scene.run(['sync', '--yes'])).code).toBe(0)
  expect(await left()).toEqual([])
  expect(await landing.list('conversations')).not.toEqual([])
})
