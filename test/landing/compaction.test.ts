import { randomBytes } from 'node:crypto'
import { copyFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emptyNotes } from '../../src/catalog/inspection/inspect.ts'
import type { ConvohouseError } from '../../src/core/errors.ts'
import { DAY } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { Landing } from '../../src/landing/landing.ts'
import type { PageHead } from '../../src/landing/page.ts'
import { rounds } from '../tier.ts'
import { flipped } from './flipped.ts'
import { landedFile } from './landed-file.ts'
import { bytes, failureOf } from './landing-contract.ts'
import { headOf, SENT_AT_MS } from './page-heads.ts'
import { temporaryHome } from './temporary-home.ts'

const FOLDER = 'ws/conversations/agent-1/2026-11'
const TOMORROW_MS = SENT_AT_MS + DAY

const bodyOf = (sequence: number) => bytes(`{"success":true,"data":[{"ID":"c${sequence}","n":${sequence}}]}\n`)

async function landing(pages = 0) {
  const home = await temporaryHome()
  const store = openLanding(home).workspace('ws')
  const land = (sequence: number, parts: Partial<PageHead> = {}) =>
    store.land(headOf({ sequence }, parts), bodyOf(sequence))
  for (let sequence = 1; sequence <= pages; sequence++) await land(sequence)
  const files = () => namesBelow(home, FOLDER)
  const compact = () => store.compact([FOLDER], TOMORROW_MS)
  return { home, store, land, files, compact, again: () => openLanding(home).workspace('ws') }
}

const namesBelow = async (home: string, folder: string) =>
  (await readdir(landedFile(home, folder), { recursive: true, withFileTypes: true }))
    .filter(entry => entry.isFile())
    .map(({ name }) => name)

const codeOf = (promise: Promise<unknown>): Promise<string | null> =>
  promise.then(
    () => null,
    ({ code }: ConvohouseError) => code,
  )

/** Offset of the flags in a gzip member's header. Flags let zlib skip the following bytes, and make DuckDB fail. */
const FLAGS_BYTE = 3

/** Returns the offsets of the gzip members of a bundle. */
const membersOf = (bundle: Buffer): number[] =>
  [...bundle.keys()].filter(at => bundle.subarray(at, at + 4).equals(Buffer.from([0x1f, 0x8b, 8, 0])))

/** Returns everything that the port reports about the landing's pages. */
async function contents(store: Landing) {
  const pages = await store.list()
  return Promise.all(
    pages.map(async page => ({
      page,
      head: await store.head(page.address),
      body: String(await store.body(page.address)),
    })),
  )
}

describe('compaction', () => {
  it('leaves one file of many small pages, also of those that land later, and changes nothing else', async () => {
    const { store, land, files, compact, again } = await landing(20)
    const before = await contents(store)
    await compact()
    expect(await files()).toHaveLength(1)
    expect([await contents(store), await contents(again())]).toEqual([before, before])
    const [bundle] = await files()
    await compact()
    expect(await files()).toEqual([bundle])
    await land(21)
    await compact()
    expect(await files()).toHaveLength(1)
    expect(await contents(store)).toEqual(await contents(again()))
    expect(await store.list()).toHaveLength(21)
    expect((await failureOf(land(7))).code).toBe('LANDING_TAKEN')
    expect((await failureOf(again().land(headOf({ sequence: 21 }), bodyOf(1)))).code).toBe('LANDING_TAKEN')
  })

  it('does not move pages of windows that were just opened, large ones, nor a single one', async () => {
    const { store, land, files, compact } = await landing(2)
    await store.compact([FOLDER], SENT_AT_MS)
    expect(await files()).toHaveLength(2)
    await store.land(headOf({ sequence: 3 }), randomBytes(100_000))
    await store.erase([(await store.list())[0]!.address])
    const left = await files()
    await compact()
    expect(await files()).toEqual(left)
    await land(1)
    await compact()
    expect(await files()).toHaveLength(2)
  })

  it.each([
    ['was refused', { status: 404 }],
    [
      'has a value of a wrong type',
      { notes: { ...emptyNotes(), mismatched: { a: { count: 1, declared: 'text', seen: 'object' } } } },
    ],
    ['has keys that cannot be columns', { notes: { ...emptyNotes(), awkward: ['a'] } }],
  ] as [string, Partial<PageHead>][])(
    'leaves a page alone that %s: DuckDB reads a bundle as a whole',
    async (_which, parts) => {
      const { store, land, files, compact } = await landing(3)
      const address = await land(4, parts)
      await compact()
      expect((await files()).sort()).toContain(address.split('/').at(-1))
      expect(await files()).toHaveLength(2)
      expect(await store.list()).toHaveLength(4)
    },
  )

  it('leaves a damaged page alone, and one whose header has a flag, with which DuckDB could not read its bundle', async () => {
    const { home, store, files, compact } = await landing(3)
    const { address } = (await store.list())[0]!
    const file = landedFile(home, address)
    const intact = await readFile(file)
    await writeFile(file, flipped(intact, (intact.length - 30) * 8))
    await compact()
    expect(await files()).toHaveLength(2)
    expect((await failureOf(store.body(address))).code).toBe('LANDING_CORRUPT')
    await writeFile(file, flipped(intact, FLAGS_BYTE * 8))
    await compact()
    expect(await files()).toHaveLength(2)
    await writeFile(file, intact)
    await compact()
    expect(await files()).toHaveLength(1)
  })

  it('removes the file of a page that is in a bundle, but not that of another answer', async () => {
    const { home, store, files, compact } = await landing(2)
    const [first, second] = (await store.list()).map(({ address }) => landedFile(home, address)) as [string, string]
    await copyFile(first, `${home}/first`)
    await compact()
    await copyFile(`${home}/first`, first)
    expect(await store.list()).toHaveLength(2)
    await compact()
    expect(await files()).toHaveLength(1)
    await copyFile(`${home}/first`, second)
    await compact()
    expect(await files()).toHaveLength(2)
  })

  it('by two processes, while others land, list and read pages, loses and duplicates nothing', async () => {
    const { store, land, files, compact, again } = await landing(5)
    let isLanding = true
    const landAll = async () => {
      for (let sequence = 6; sequence <= 60; sequence++) await land(sequence)
      isLanding = false
    }
    const keepCompacting = async (other: Landing) => {
      while (isLanding) await other.compact([FOLDER], TOMORROW_MS)
    }
    const keepReading = async () => {
      for (let most = 5; isLanding; ) {
        const found = await contents(again())
        expect(found.length).toBeGreaterThanOrEqual(most)
        most = found.length
        for (const { page, body } of found) expect(body).toBe(String(bodyOf(page.sequence)))
        await store.verifyChecksums(found.map(({ page: { address }, head }) => ({ address, head })))
      }
    }
    await Promise.all([landAll(), keepCompacting(again()), keepCompacting(again()), keepReading()])
    await compact()
    expect(await files()).toHaveLength(1)
    expect((await store.list()).map(({ sequence }) => sequence)).toEqual(Array.from({ length: 60 }, (_, n) => n + 1))
  })
})

describe('pages that a killed compaction left in two bundles', () => {
  it('are joined into one bundle that holds each of them once', async () => {
    const { home, store, files, compact } = await landing(3)
    const before = await contents(store)
    await compact()
    const folder = join(landedFile(home, FOLDER), 'bundles')
    await copyFile(join(folder, (await files())[0]!), join(folder, '0.json.gz'))
    await compact()
    const bundled = gunzipSync(await readFile(join(folder, (await files())[0]!))).toString()
    expect([await files(), bundled.match(/"_page"/g)]).toEqual([[expect.anything()], Array(3).fill('"_page"')])
    expect(await contents(store)).toEqual(before)
  })
})

it('a year of polls that brought nothing takes a hundred bytes a poll', async () => {
  const { home, store, files, compact } = await landing()
  for (let sequence = 1; sequence <= 120; sequence++) {
    const atMs = SENT_AT_MS + sequence * 900_000
    const query = { limit: '100', fromTs: `${atMs - 900_000}`, toTs: `${atMs}` }
    const request = { path: '/v3/agents/agent-1/convos/export', query }
    await store.land(
      headOf({ sequence }, { lease: randomBytes(8).toString('hex'), sentAtMs: atMs, sentAtServerMs: atMs, request }),
      bytes(
        `{"success":true,"data":[],"paging":{"hasMore":false},"usage":{"logId":"${randomBytes(8).toString('hex')}"}}`,
      ),
    )
  }
  await compact()
  const [bundle, ...others] = await files()
  expect(others).toEqual([])
  const { size } = await stat(join(landedFile(home, FOLDER), 'bundles', bundle!))
  expect(size / 120).toBeLessThan(150)
  expect(await contents(store)).toHaveLength(120)
})

it('pages that exceed one bundle fill several', async () => {
  const { store, files, compact, again } = await landing()
  const bodies = Array.from({ length: 100 }, () => randomBytes(60_000))
  for (const [index, body] of bodies.entries()) await store.land(headOf({ sequence: index + 1 }), body)
  await compact()
  expect(await files()).toHaveLength(2)
  const pages = await again().list()
  const found = await Promise.all(pages.map(({ address }) => again().body(address)))
  // `toEqual` compares buffers byte by byte through an iterator, which takes seconds for two megabytes.
  expect(found.map((body, index) => bodies[index]!.equals(body))).toEqual(bodies.map(() => true))
})

it('a page that was paid for also lands if a damaged bundle hides whether its name is taken', async () => {
  const { home, store, again, land, compact, files } = await landing(2)
  await compact()
  const bundle = join(landedFile(home, FOLDER), 'bundles', (await files())[0]!)
  const intact = await readFile(bundle)
  await writeFile(bundle, 'damaged')
  expect(await failureOf(again().list())).toMatchObject({
    code: 'LANDING_CORRUPT',
    message: expect.stringContaining(bundle),
  })
  expect((await failureOf(again().land(headOf({ sequence: 3 }), bodyOf(3)))).code).toBe('LANDING_CORRUPT')
  await writeFile(bundle, intact)
  expect((await store.list()).map(({ sequence }) => sequence)).toEqual([1, 2, 3])
  expect((await failureOf(land(3))).code).toBe('LANDING_TAKEN')
})

describe('a bundle', () => {
  it('reports a flipped bit of any of its members, unless the content stays the same', async () => {
    const { home, store, files, compact } = await landing(20)
    // These pages fill one member each.
    for (const sequence of [21, 22])
      await store.land(headOf({ sequence }), bytes(`{"data":["${randomBytes(30_000).toString('hex')}"]}`))
    await compact()
    const found = await contents(store)
    const file = join(landedFile(home, FOLDER), 'bundles', (await files())[0]!)
    const intact = await readFile(file)
    const members = membersOf(intact)
    expect(members.length).toBeGreaterThan(2)
    const flagBits = membersOf(intact).flatMap(at => Array.from({ length: 8 }, (_, bit) => (at + FLAGS_BYTE) * 8 + bit))
    const anyBit = fc.integer({ min: 0, max: intact.length * 8 - 1 })
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyBit, fc.constantFrom(...flagBits)), fc.constantFrom(...found), async (bit, of) => {
        const changed = flipped(intact, bit)
        await writeFile(file, changed)
        const reader = openLanding(home).workspace('ws')
        const { page, head, body } = of
        const code = await codeOf(reader.verifyChecksums([{ address: page.address, head }]))
        const read = await reader.body(page.address).then(String, () => null)
        // A returned body equals the landed one, no matter which bit has flipped.
        if (read !== null) expect(read).toBe(body)
        if (code === 'LANDING_CORRUPT') return
        expect([code, read]).toEqual([null, body])
        expect(gunzipSync(changed).equals(gunzipSync(intact))).toBe(true)
        expect(flagBits).not.toContain(bit)
      }),
      {
        numRuns: rounds('FAULT_RUNS', { usual: 15, deep: 1_000 }),
        examples: members.map(at => [(at + FLAGS_BYTE) * 8, found[3]!]),
      },
    )
    await writeFile(file, intact)
    await store.verifyChecksums(found.map(({ page: { address }, head }) => ({ address, head })))
  })

  it('loses only the pages that are erased, and is removed with the last one', async () => {
    const { home, store, files, compact } = await landing(4)
    await compact()
    const [first, second, ...others] = (await store.list()).map(({ address }) => address)
    await store.erase([first!, second!])
    await store.erase([first!])
    expect((await store.list()).map(({ address }) => address)).toEqual(others)
    expect((await failureOf(store.body(first!))).code).toBe('LANDING_CORRUPT')
    await store.erase(others)
    expect(await files()).toEqual([])
    expect(await store.land(headOf(), bodyOf(1))).toBe(first)
    await rm(dirname(landedFile(home, first!)), { recursive: true })
    expect(await store.list()).toEqual([])
  })
})
