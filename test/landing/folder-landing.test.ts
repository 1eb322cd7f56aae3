import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rename, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConvohouseError } from '../../src/core/errors.ts'
import { HOUR } from '../../src/core/time.ts'
import { writeOnce } from '../../src/files/durable.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { flipped } from './flipped.ts'
import { headOf } from './page-heads.ts'
import { temporaryHome } from './temporary-home.ts'

const failureOf = (promise: Promise<unknown>): Promise<ConvohouseError> =>
  promise.then(
    () => expect.fail('it did not fail'),
    (error: ConvohouseError) => error,
  )

const bytes = (text: string): Buffer => Buffer.from(text)

async function landing() {
  return openLanding(await temporaryHome(), 'ws')
}

describe('a page', () => {
  it('is landed byte for byte, whatever its bytes are', async () => {
    const store = await landing()
    let sequence = 0
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), async body => {
        const path = await store.land(headOf({ sequence: ++sequence }), body)
        expect(Buffer.compare(await store.body(path), body)).toBe(0)
      }),
      { numRuns: 30 },
    )
  })

  it('has a head that is read back as it was, with the length of its body and what was written of it', async () => {
    const store = await landing()
    const head = headOf({}, { request: { path: '/v3/ü', query: { cursor: 'a\nb' } } })
    const path = await store.land(head, bytes('{"data":[]}'))
    const packed = { bytes: expect.any(Number), crc32: expect.any(Number) }
    expect(await store.head(path)).toEqual({ ...head, bodyBytes: 11, packed })
  })

  it('has a head that is read without its body', async () => {
    const store = await landing()
    const path = await store.land(headOf(), bytes('x'.repeat(100_000)))
    await truncate(join(store.root, path), (await stat(join(store.root, path))).size - 50)
    expect((await store.head(path)).place.window).toBe(headOf().place.window)
  })

  it('has a head of any length', async () => {
    const store = await landing()
    // Hashes, because what repeats itself would be packed into the first kilobytes.
    const notes = Array.from({ length: 5_000 }, (_, index) => createHash('sha256').update(`${index}`).digest('hex'))
    const path = await store.land(headOf({}, { notes: { ...headOf().notes, awkward: notes } }), bytes('{}'))
    expect((await store.head(path)).notes.awkward).toEqual(notes)
  })

  it('lands where somebody has moved the folders away meanwhile', async () => {
    const store = await landing()
    await store.land(headOf({ sequence: 1 }), bytes('{}'))
    await rename(store.root, `${store.root}-moved`)
    const path = await store.land(headOf({ sequence: 2 }), bytes('{"data":[]}'))
    expect((await store.body(path)).toString()).toBe('{"data":[]}')
  })

  it('is one file of two JSON values, a line each', async () => {
    const store = await landing()
    const path = await store.land(headOf(), bytes('{"data":[1]}'))
    const [head, body] = gunzipSync(await readFile(join(store.root, path)))
      .toString()
      .split('\n')
    expect(JSON.parse(head!)).toMatchObject({ _head: { run: 'run-1' } })
    expect(body).toBe('{"data":[1]}')
  })

  it('can be read by its owner alone, and its folders too', async () => {
    const store = await landing()
    const path = await store.land(headOf(), bytes('{}'))
    const modeOf = async (file: string) => (await stat(file)).mode & 0o777
    expect(await modeOf(join(store.root, path))).toBe(0o600)
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) {
      expect(await modeOf(join(store.root, folder)), folder).toBe(0o700)
    }
  })

  it('lands once: the second is refused, and the bytes of the first stay', async () => {
    const store = await landing()
    const path = await store.land(headOf(), bytes('first'))
    const error = await failureOf(store.land(headOf(), bytes('second')))
    expect(error).toMatchObject({ code: 'LANDING_TAKEN', transient: false })
    expect((await store.body(path)).toString()).toBe('first')
    expect(await readdir(dirname(join(store.root, path)))).toEqual([basename(path)])
  })

  it('lands once of many that race for its place', async () => {
    const store = await landing()
    const racers = Array.from({ length: 8 }, (_, racer) => store.land(headOf(), bytes(`racer ${racer}`)))
    const outcomes = await Promise.allSettled(racers)
    const winners = outcomes.flatMap((outcome, racer) => (outcome.status === 'fulfilled' ? [racer] : []))
    expect(winners).toHaveLength(1)
    const [landed] = await store.list()
    expect((await store.body(landed!.address)).toString()).toBe(`racer ${winners[0]}`)
  })
})

describe('a landed file', () => {
  const cut = async (keep: (size: number, headBytes: number) => number) => {
    const store = await landing()
    const path = await store.land(headOf(), bytes('{"data":["some text that does not repeat itself, 0123456789"]}'))
    const file = join(store.root, path)
    const { size } = await stat(file)
    await truncate(file, keep(size, size - (await store.head(path)).packed!.bytes))
    return { store, path }
  }

  it.each([
    ['in its body', (size: number) => size - 1],
    ['by its last member’s checksum', (size: number) => size - 8],
    ['exactly behind its head', (_size: number, headBytes: number) => headBytes],
    ['in its head', (_size: number, headBytes: number) => headBytes - 20],
    ['to nothing', () => 0],
  ])('that was cut off %s is told to be corrupt, by its name', async (_where, keep) => {
    const { store, path } = await cut(keep)
    const error = await failureOf(store.body(path))
    expect(error.code).toBe('LANDING_CORRUPT')
    expect(error.message).toContain(path)
    expect(error.facts.file).toContain(path)
  })

  it.each([
    ['in its head', (_size: number, headBytes: number) => headBytes - 200],
    ['to nothing', () => 0],
  ])('that was cut off %s has no head to read', async (_where, keep) => {
    const { store, path } = await cut(keep)
    expect((await failureOf(store.head(path))).code).toBe('LANDING_CORRUPT')
  })

  it('that was overwritten is told to be corrupt', async () => {
    const { store, path } = await cut(size => size)
    await writeFile(join(store.root, path), 'no gzip at all')
    expect((await failureOf(store.body(path))).code).toBe('LANDING_CORRUPT')
    expect((await failureOf(store.head(path))).code).toBe('LANDING_CORRUPT')
  })

  it('of which any bit of the body has flipped is told to be corrupt, unless nothing has', async () => {
    const store = await landing()
    const path = await store.land(headOf(), bytes('{"data":["some text that does not repeat itself, 0123456789"]}'))
    const [file, head] = [join(store.root, path), await store.head(path)]
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

  it('of before its checksum was told is unpacked instead', async () => {
    const store = await landing()
    const path = await store.land(headOf(), bytes('{}'))
    const members = [gzipSync('{"_head":{"bodyBytes":9}}\n'), gzipSync('{"data":1}', { level: 0 })]
    const file = join(store.root, path)
    await writeFile(file, Buffer.concat(members))
    const head = await store.head(path)
    expect((await failureOf(store.verifyChecksums([{ address: path, head }]))).code).toBe('LANDING_CORRUPT')
    const [, body] = [members.pop(), gzipSync('{"data":1', { level: 0 })]
    await writeFile(file, Buffer.concat([...members, body]))
    await store.verifyChecksums([{ address: path, head }])
    const letter = members[0]!.length + body.indexOf('data')
    await writeFile(file, flipped(Buffer.concat([...members, body]), letter * 8))
    expect((await failureOf(store.verifyChecksums([{ address: path, head }]))).code).toBe('LANDING_CORRUPT')
  })

  it('that is gone is told by its name', async () => {
    const store = await landing()
    expect((await failureOf(store.body('ws/nowhere.json.gz'))).message).toContain('ws/nowhere.json.gz')
    expect((await failureOf(store.head('ws/nowhere.json.gz'))).code).toBe('LANDING_CORRUPT')
  })
})

describe('the list', () => {
  it('is empty before anything landed', async () => expect(await (await landing()).list()).toEqual([]))

  it('goes by window, generation and sequence, in whatever order they landed', async () => {
    const store = await landing()
    const [early, late] = ['20261031T235959999Z-head-1-2', '20261101T000000000Z-head-3-4']
    const places = [
      { window: early, generation: 1, sequence: 1 },
      { window: early, generation: 1, sequence: 2 },
      { window: early, generation: 1, sequence: 1_000_000 },
      { window: early, generation: 2, sequence: 1 },
      { window: early, generation: 10, sequence: 1 },
      { window: late, generation: 1, sequence: 1 },
    ]
    for (const place of [4, 2, 5, 0, 3, 1].map(index => places[index]!)) await store.land(headOf(place), bytes('{}'))
    const listed = (await store.list()).map(({ window, generation, sequence }) => ({ window, generation, sequence }))
    expect(listed).toEqual(places)
  })

  it('holds every agent’s pages and the listings of agents, and no other workspace’s', async () => {
    const home = await temporaryHome()
    const [store, other] = [openLanding(home, 'ws'), openLanding(home, 'ws2')]
    await store.land(headOf({ agentId: 'a' }), bytes('{}'))
    await store.land(headOf({ agentId: 'b' }), bytes('{}'))
    await store.land(headOf({ stream: 'agents', agentId: null }), bytes('{}'))
    await other.land(headOf({ agentId: 'a' }), bytes('{}'))
    expect((await store.list()).map(file => file.address.split('/').slice(0, 3).join('/')).sort()).toEqual([
      'ws/agents/2026-11',
      'ws/conversations/a',
      'ws/conversations/b',
    ])
  })

  it('passes over what a killed process left half written, until it is swept away', async () => {
    const store = await landing()
    const path = await store.land(headOf(), bytes('{}'))
    const folder = dirname(join(store.root, path))
    const [left, young] = ['.tmp-4242-0badcafe', '.tmp-4243-0badcafe']
    for (const name of [left, young]) await writeFile(join(folder, name), 'half a pa')
    const hoursAgo = new Date(Date.now() - 2 * HOUR)
    await utimes(join(folder, left), hoursAgo, hoursAgo)
    expect(await store.list()).toHaveLength(1)
    await store.compact([dirname(path)])
    expect((await readdir(folder)).sort()).toEqual([young, basename(path)])
  })

  it('does not pass over a folder that cannot be read: its pages would be bought again', async () => {
    const home = await temporaryHome()
    await mkdir(join(home, 'landing', 'ws'), { recursive: true })
    await writeFile(join(home, 'landing', 'ws', 'conversations'), 'a file where a folder should be')
    expect((await failureOf(openLanding(home, 'ws').list())).code).toBe('HOME_UNUSABLE')
  })
})

describe('an answer that is not JSON', () => {
  it('is kept as it came, and the same answer twice is one file', async () => {
    const store = await landing()
    const answer = { atMs: 7, agentId: '../a', status: 502, body: bytes('<html>') }
    const path = await store.landFailed(answer)
    expect(await store.landFailed(answer)).toBe(path)
    expect(path).toMatch(/^ws\/failed\/7-%2E%2E%2Fa-502-[0-9a-f]{12}\.bin$/)
    expect((await readFile(join(store.root, path))).toString()).toBe('<html>')
    expect(await store.list()).toEqual([])
  })
})

describe('a data folder', () => {
  it('that cannot be written is told so, with what to do', async () => {
    const home = await temporaryHome()
    await writeFile(join(home, 'a-file'), '')
    const error = await failureOf(openLanding(join(home, 'a-file', 'home'), 'ws').land(headOf(), bytes('{}')))
    expect(error).toMatchObject({ code: 'HOME_UNUSABLE', exitCode: 6 })
    expect(error.message).toContain('a-file: what is there is no folder')
    expect(error.hint).toContain('data folder')
  })

  it.skipIf(process.getuid?.() === 0)('that is read-only is told so (the superuser may write everywhere)', async () => {
    const home = await temporaryHome()
    await chmod(home, 0o500)
    expect((await failureOf(openLanding(home, 'ws').land(headOf(), bytes('{}')))).code).toBe('HOME_UNUSABLE')
  })

  it('keeps no half file of a write that failed', async () => {
    const home = await temporaryHome()
    await writeFile(join(home, 'taken'), 'first')
    await failureOf(writeOnce(join(home, 'taken'), [bytes('second')]))
    expect(await readdir(home)).toEqual(['taken'])
    expect((await readFile(join(home, 'taken'))).toString()).toBe('first')
  })
})
