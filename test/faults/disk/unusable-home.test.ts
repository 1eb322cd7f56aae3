import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type CliOptions, scene as commandScene } from '../../cli/cli-process.ts'
import { inProcess } from '../../cli/in-process.ts'
import { isDeep } from '../../tier.ts'
import { expectComplete, expectError, expectRecovered, type FaultScene, faultScene } from '../scene.ts'

/** Expects that `sync` reports why its data folder cannot be used, and sends no request to the vendor. */
async function expectRefused(scene: FaultScene, says: string, options?: CliOptions): Promise<void> {
  const requests = async () => (await fetch(`${scene.sandbox.url}/_sandbox/requests`)).text()
  const before = await requests()
  const ended = await scene.run(['sync', '--yes'], options)
  expectError(scene, ended, { exit: 6, error: 'HOME_UNUSABLE', says: [says] })
  expect(await requests()).toBe(before)
}

describe('a data folder that cannot be created', () => {
  it.skipIf(!existsSync('/proc/self'))('is reported at once if its file system allows no folders', async () => {
    const scene = await faultScene()
    for (const [home, first] of [
      ['/proc/data', '/proc/data'],
      ['/proc/self/a/data', '/proc/self/a'],
    ] as const)
      await expectRefused(
        await scene.at(home),
        `Cannot create the folder ${first}: the file system allows no new folder there`,
      )
    const { env } = await commandScene()
    const received = await inProcess(['receive', '--port', '0'], {
      env: { ...env, CONVOHOUSE_HOME: '/proc/data', CONVOHOUSE_WEBHOOK_SECRET: 'a-secret-of-its-webhooks' },
    })
    expect([received.code, received.stdout]).toEqual([6, ''])
  })

  it('is reported with the file in its place, or with the link to a missing disk', async () => {
    const scene = await faultScene()
    const file = join(scene.folder, 'file')
    const link = join(scene.folder, 'link')
    await writeFile(file, 'a file')
    await symlink(join(scene.folder, 'unmounted'), link)
    for (const [home, first] of [
      [file, file],
      [join(file, 'above', 'data'), file],
      [join(link, 'data'), link],
    ] as const)
      await expectRefused(await scene.at(home), `Cannot create the folder ${first}: a file is in its place`)
  })
})

const withoutLinks = ['python3', join(import.meta.dirname, 'without-hard-links.py')]
const refusesLinks = spawnSync(withoutLinks[0]!, [withoutLinks[1]!, 'true'], { encoding: 'utf8' })
if (refusesLinks.status !== 0)
  console.warn(
    `skipped, a file system without hard links: ${refusesLinks.error?.message ?? refusesLinks.stderr.trim()}`,
  )

describe.skipIf(refusesLinks.status !== 0)('a file system without hard links', () => {
  it('is reported before any page is requested, also if the folder was copied to it', async () => {
    const scene = await faultScene({ sandbox: { conversations: 20 } })
    const says = `The file system of ${join(scene.home, 'landing', '.room')} does not support hard links (EPERM)`
    await expectRefused(scene, says, { through: withoutLinks })
    if (!isDeep) return
    await expectRecovered(scene)
    await expectRefused(scene, says, { through: withoutLinks })
    await expectComplete(scene)
  })
})
