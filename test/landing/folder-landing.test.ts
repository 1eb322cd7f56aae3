import { mkdir, readdir, readFile, rename, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { PageHead } from '../../src/landing/page.ts'
import { flipped } from './flipped.ts'
import { landedFile } from './landed-file.ts'
import { bytes, failureOf, landingContract } from './landing-contract.ts'
import { headOf, SENT_AT_MS } from './page-heads.ts'
import { temporaryHome } from './temporary-home.ts'

landingContract(async () => {
  const home = await temporaryHome()
  return { store: openLanding(home), overwrite: address => writeFile(landedFile(home, address), 'no gzip at all') }
})

async function landing() {
  const home = await temporaryHome()
  return { home, store: openLanding(home).workspace('ws') }
}

describe('a page', () => {
  it('has a head that is read without its body', async () => {
    const { home, store } = await landing()
    const path = await store.land(headOf(), bytes('x'.repeat(100_000)))
    await truncate(landedFile(home, path), (await stat(landedFile(home, path))).size - 50)
    expect((await store.head(path)).place.window).toBe(headOf().place.window)
  })

  it('lands even if the folders have been moved away in between', async () => {
    const { home, store } = await landing()
    await store.land(headOf({ sequence: 1 }), bytes('{}'))
    await rename(join(home, 'landing'), join(home, 'moved'))
    const path = await store.land(headOf({ sequence: 2 }), bytes('{"data":[]}'))
    expect((await store.body(path)).toString()).toBe('{"data":[]}')
  })

  it('is one file of two lines of JSON, which its owner only can read, like its folders', async () => {
    const { home, store } = await landing()
    const path = await store.land(headOf(), bytes('{"data":[1]}'))
    const [head, body] = gunzipSync(await readFile(landedFile(home, path)))
      .toString()
      .split('\n')
    expect([JSON.parse(head!), body]).toMatchObject([{ _head: { run: 'run-1' } }, '{"data":[1]}'])
    const modeOf = async (file: string) => (await stat(file)).mode & 0o777
    expect(await modeOf(landedFile(home, path))).toBe(0o600)
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
      expect(await modeOf(landedFile(home, folder)), folder).toBe(0o700)
    }
  })

  it('that is refused leaves no file behind', async () => {
    const { home, store } = await landing()
    const address = await store.land(headOf(), bytes('first'))
    await failureOf(store.land(headOf(), bytes('second')))
    expect(await readdir(dirname(landedFile(home, address)))).toEqual([basename(address)])
  })
})

describe('a landed file', () => {
  const cut = async (keep: (size: number, headBytes: number) => number) => {
    const { home, store } = await landing()
    const path = await store.land(headOf(), bytes('{"data":["some text that does not repeat itself, 0123456789"]}'))
    const file = landedFile(home, path)
    const { size } = await stat(file)
    await truncate(file, keep(size, size - (await store.head(path)).packed!.bytes))
    return { home, store, path }
  }

  it.each([
    ['in its body', (size: number) => size - 1],
    ['by its last member’s checksum', (size: number) => size - 8],
    ['exactly after its head', (_size: number, headBytes: number) => headBytes],
    ['in its head', (_size: number, headBytes: number) => headBytes - 200],
    ['to nothing', () => 0],
  ])('that was cut off %s is reported as corrupt, with its name', async (_where, keep) => {
    const { store, path } = await cut(keep)
    const error = await failureOf(store.body(path))
    expect(error.code).toBe('LANDING_CORRUPT')
    expect(error.message).toContain(path)
    expect(error.facts.file).toContain(path)
  })

  it('is reported as corrupt if any bit of its body has flipped, and only then', async () => {
    const { home, store } = await landing()
    const path = await store.land(headOf(), bytes('{"data":["some text that does not repeat itself, 0123456789"]}'))
    const [file, head] = [landedFile(home, path), await store.head(path)]
    await store.verifyChecksums([{ address: path, head }])
    const intact = await readFile(file)
    const anyBit = fc.integer({ min: (intact.length - head.packed!.bytes) * 8, max: intact.length * 8 - 1 })
    await fc.assert(
      fc.asyncProperty(anyBit, async bit => {
        await writeFile(file, flipped(intact, bit))
        expect((await failureOf(store.verifyChecksums([{ address: path, head }]))).facts.file).toContain(path)
      }),
    )
  })
})

describe('the list', () => {
  it('skips half-written files of a killed process, until they are removed', async () => {
    const { home, store } = await landing()
    const path = await store.land(headOf(), bytes('{}'))
    const folder = dirname(landedFile(home, path))
    const [left, young] = ['.tmp-4242-0badcafe', '.tmp-4243-0badcafe']
    for (const name of [left, young]) await writeFile(join(folder, name), 'half a pa')
    const hoursAgo = new Date(Date.now() - 2 * HOUR)
    await utimes(join(folder, left), hoursAgo, hoursAgo)
    expect(await store.list()).toHaveLength(1)
    await store.sweep([dirname(path)])
    expect((await readdir(folder)).sort()).toEqual([young, basename(path)])
  })

  it('does not skip a folder that cannot be read: its pages would be exported again', async () => {
    const home = await temporaryHome()
    await mkdir(join(home, 'landing', 'ws'), { recursive: true })
    await writeFile(join(home, 'landing', 'ws', 'conversations'), 'a file where a folder should be')
    expect((await failureOf(openLanding(home).workspace('ws').list())).code).toBe('HOME_UNUSABLE')
  })
})

describe('an answer that is not JSON', () => {
  it('is kept as received, and the same answer twice is one file', async () => {
    const { home, store } = await landing()
    const answer = { atMs: 7, agentId: '../a', status: 502, body: bytes('<html>') }
    const path = await store.landFailed(answer)
    expect(await store.landFailed(answer)).toBe(path)
    expect(path).toMatch(/^ws\/failed\/7-%2E%2E%2Fa-502-[0-9a-f]{12}\.bin$/)
    expect((await readFile(landedFile(home, path))).toString()).toBe('<html>')
    expect(await store.list()).toEqual([])
  })
})

describe('a data folder', () => {
  it('that cannot be written is reported with a hint', async () => {
    const home = await temporaryHome()
    await writeFile(join(home, 'a-file'), '')
    const error = await failureOf(
      openLanding(join(home, 'a-file', 'home'))
        .workspace('ws')
        .land(headOf(), bytes('{}')),
    )
    expect(error).toMatchObject({ code: 'HOME_UNUSABLE', exitCode: 6 })
    expect(error.message).toContain('a-file: a file is in its place')
    expect(error.hint).toContain('data folder')
  })
})

describe('rewriting that a kill interrupted', () => {
  it('is completed by the next one: in files, in both bundles of a page, and in a file beside its bundle', async () => {
    const { home, store } = await landing()
    const addresses: string[] = []
    for (const sequence of [1, 2, 3])
      addresses.push(await store.land(headOf({ sequence }), bytes(`{"data":["jane ${sequence}"]}`)))
    const folder = dirname(landedFile(home, addresses[0]!))
    const left = await readFile(landedFile(home, addresses[0]!))
    await store.compact([dirname(addresses[0]!)], SENT_AT_MS + 24 * HOUR)
    const [bundle] = await readdir(join(folder, 'bundles'))
    const before = await readFile(join(folder, 'bundles', bundle!))
    const change = ({ head, body }: { head: PageHead; body: Buffer }) =>
      body.includes('jane') ? { head, body: bytes(body.toString().replace('jane', 'gone')) } : null
    expect(await store.rewrite(change)).toBe(1)
    // The kill came before the old bundle was removed, and a file is left of a compaction before it.
    await writeFile(join(folder, 'bundles', bundle!), before)
    await writeFile(landedFile(home, addresses[0]!), left)
    const temporary = join(folder, '.tmp-1-abc')
    await writeFile(temporary, 'jane')
    const hoursAgo = new Date(Date.now() - 2 * HOUR)
    await utimes(temporary, hoursAgo, hoursAgo)
    expect(await store.rewrite(change)).toBe(2)
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) {
        const bytes = await readFile(join(entry.parentPath, entry.name))
        expect(gunzipSync(bytes).toString(), entry.name).not.toContain('jane')
      }
    const again = openLanding(home).workspace('ws')
    expect((await again.list()).map(({ address }) => address)).toEqual(addresses)
    for (const address of addresses) expect((await again.body(address)).toString()).toContain('gone')
    await again.compact([dirname(addresses[0]!)], SENT_AT_MS + 24 * HOUR)
    expect(await readdir(folder, { recursive: true })).toHaveLength(2)
    expect((await again.body(addresses[2]!)).toString()).toBe('{"data":["gone 3"]}')
    expect(await again.rewrite(change)).toBe(0)
  })
})
