// Tests for every implementation of the landing's port. An implementation's own test file calls `landingContract`.
import { createHash } from 'node:crypto'
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { quoteText } from '../../src/catalog/layout.ts'
import type { ConvohouseError } from '../../src/core/errors.ts'
import type { Change, Landing, LandingStore, PageFile } from '../../src/landing/landing.ts'
import type { PageHead } from '../../src/landing/page.ts'
import { headOf, SENT_AT_MS } from './page-heads.ts'

export interface LandingUnderTest {
  store: LandingStore
  /** Replaces the stored bytes of a page with bytes that are not a page. */
  overwrite(address: string): Promise<void>
}

export const failureOf = (promise: Promise<unknown>): Promise<ConvohouseError> =>
  promise.then(
    () => expect.fail('it did not fail'),
    (error: ConvohouseError) => error,
  )

export const bytes = (text: string): Buffer => Buffer.from(text)

/** Returns the `data` of each page by address, as DuckDB reads it from the files that the port supplies. */
async function readByDuckDb(files: readonly PageFile[]): Promise<Map<string, string>> {
  const connection = await (await DuckDBInstance.create()).connect()
  const read = new Map<string, string>()
  for (const { uri, addresses, isBundle } of files) {
    const [page, columns] = isBundle
      ? ['_page', "{_page: 'VARCHAR', _body: 'STRUCT(data JSON)'}"]
      : [quoteText(addresses[0]!), "{data: 'JSON'}"]
    const data = isBundle ? '_body.data' : 'data'
    const reader = await connection.runAndReadAll(
      `SELECT ${page} AS page, ${data}::VARCHAR AS data FROM read_json(${quoteText(uri)}, columns = ${columns}) WHERE ${data} IS NOT NULL`,
    )
    for (const { page: address, data } of reader.getRowObjects())
      if (addresses.includes(String(address))) read.set(String(address), String(data))
  }
  connection.closeSync()
  return read
}

const TOMORROW_MS = SENT_AT_MS + 86_400_000

const NOVEMBER = '20261120T090000000Z-head-1-2'
const OCTOBER = '20261031T235959999Z-head-1-2'

/** `open` creates a landing that is empty and separate from all others. */
export function landingContract(open: () => Promise<LandingUnderTest>): void {
  const landing = async (): Promise<Landing> => (await open()).store.workspace('ws')

  describe('a page', () => {
    it('lands byte for byte, with any bytes', async () => {
      const store = await landing()
      let sequence = 0
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), async body => {
          const address = await store.land(headOf({ sequence: ++sequence }), body)
          expect(Buffer.compare(await store.body(address), body)).toBe(0)
        }),
        { numRuns: 30 },
      )
    })

    it('has a head of any length that is read back unchanged, with the length of its body and of the compressed bytes', async () => {
      const store = await landing()
      // Hashes are used, because repetitive text would be compressed into the first kilobytes.
      const awkward = Array.from({ length: 5_000 }, (_, index) => createHash('sha256').update(`${index}`).digest('hex'))
      const notes = { ...headOf().notes, awkward }
      const head = headOf({}, { request: { path: '/v3/ü', query: { cursor: 'a\nb' } }, notes })
      const address = await store.land(head, bytes('{"data":[]}'))
      const packed = { bytes: expect.any(Number), crc32: expect.any(Number) }
      expect(await store.head(address)).toEqual({ ...head, bodyBytes: 11, packed })
    })

    it('lands once: the second is refused, and the bytes of the first stay', async () => {
      const store = await landing()
      const address = await store.land(headOf(), bytes('first'))
      const error = await failureOf(store.land(headOf(), bytes('second')))
      expect(error).toMatchObject({ code: 'LANDING_TAKEN' })
      expect((await store.body(address)).toString()).toBe('first')
      expect(await store.list()).toHaveLength(1)
    })

    it('lands once if many race for its name', async () => {
      const store = await landing()
      const racers = Array.from({ length: 8 }, (_, racer) => store.land(headOf(), bytes(`racer ${racer}`)))
      const outcomes = await Promise.allSettled(racers)
      const winners = outcomes.flatMap((outcome, racer) => (outcome.status === 'fulfilled' ? [racer] : []))
      expect(winners).toHaveLength(1)
      const [landed] = await store.list()
      expect((await store.body(landed!.address)).toString()).toBe(`racer ${winners[0]}`)
    })

    it('is found at its place, and nowhere else', async () => {
      const store = await landing()
      const address = await store.land(headOf({ sequence: 2 }), bytes('{}'))
      expect(await store.find(headOf({ sequence: 2 }).place)).toEqual({ address, head: await store.head(address) })
      expect(await store.find(headOf({ sequence: 3 }).place)).toBeNull()
      expect(await store.find(headOf({ sequence: 2, agentId: 'agent-2' }).place)).toBeNull()
    })

    it('that was overwritten is reported as corrupt', async () => {
      const { store, overwrite } = await open()
      const workspace = store.workspace('ws')
      const address = await workspace.land(headOf(), bytes('{"data":[]}'))
      const head = await workspace.head(address)
      await workspace.verifyChecksums([{ address, head }])
      await overwrite(address)
      const failures = [
        workspace.body(address),
        workspace.head(address),
        workspace.verifyChecksums([{ address, head }]),
      ].map(failureOf)
      for (const failure of failures) expect(await failure).toMatchObject({ code: 'LANDING_CORRUPT' })
    })

    it('that is missing is reported with its name', async () => {
      const store = await landing()
      expect((await failureOf(store.body('ws/nowhere.json.gz'))).message).toContain('ws/nowhere.json.gz')
      expect((await failureOf(store.head('ws/nowhere.json.gz'))).code).toBe('LANDING_CORRUPT')
    })
  })

  describe('the list', () => {
    it('is empty before anything landed', async () => expect(await (await landing()).list()).toEqual([]))

    it('is sorted by window, generation and sequence, in any order of landing', async () => {
      const store = await landing()
      const [early, late] = [OCTOBER, '20261101T000000000Z-head-3-4']
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

    it('contains every agent’s pages and the listings of agents, and nothing of other workspaces', async () => {
      const { store } = await open()
      const [own, other] = [store.workspace('ws'), store.workspace('ws2')]
      await own.land(headOf({ agentId: 'a' }), bytes('{}'))
      await own.land(headOf({ agentId: 'b' }), bytes('{}'))
      await own.land(headOf({ stream: 'agents', agentId: null }), bytes('{}'))
      await other.land(headOf({ agentId: 'a' }), bytes('{}'))
      const foldersOf = (pages: readonly { address: string }[]) =>
        pages.map(({ address }) => address.split('/').slice(0, 3).join('/')).sort()
      expect(foldersOf(await own.list())).toEqual(['ws/agents/2026-11', 'ws/conversations/a', 'ws/conversations/b'])
      expect(foldersOf(await own.list('agents'))).toEqual(['ws/agents/2026-11'])
    })
  })

  describe('the folders', () => {
    it('are the months of agents and listings, each with the pages whose addresses begin with it', async () => {
      const store = await landing()
      const october = await store.land(headOf({ window: OCTOBER }), bytes('{}'))
      const november = await store.land(headOf({ window: NOVEMBER }), bytes('{}'))
      const listing = await store.land(headOf({ stream: 'agents', agentId: null }), bytes('{}'))
      const folders = await store.folders()
      expect(folders.map(({ folder, month }) => `${folder} ${month}`).sort()).toEqual([
        'ws/agents/2026-11 2026-11',
        'ws/conversations/agent-1/2026-10 2026-10',
        'ws/conversations/agent-1/2026-11 2026-11',
      ])
      const pagesOf = async (folder: string) => (await store.listFolders([folder])).map(({ address }) => address)
      expect(await pagesOf('ws/conversations/agent-1/2026-10')).toEqual([october])
      expect((await store.listFolders(folders.map(({ folder }) => folder))).map(({ address }) => address)).toEqual([
        october,
        ...[listing, november].sort(),
      ])
    })

    it('have a stamp that changes only when a page lands there', async () => {
      const store = await landing()
      await store.land(headOf({ sequence: 1 }), bytes('{}'))
      const [before] = await store.folders()
      await store.land(headOf({ sequence: 1, agentId: 'other' }), bytes('{}'))
      const stampNow = async () => (await store.folders()).find(({ folder }) => folder === before!.folder)!.stamp
      expect(await stampNow()).toBe(before!.stamp)
      // Two changes within one tick of a file system's clock may have the same timestamp.
      await new Promise(resolve => setTimeout(resolve, 20))
      await store.land(headOf({ sequence: 2 }), bytes('{}'))
      expect(await stampNow()).not.toBe(before!.stamp)
      expect(before!.stableFromMs).toBeGreaterThan(0)
    })
  })

  describe('compaction', () => {
    it('changes no address, head, body or taken name, and nothing that DuckDB reads', async () => {
      const store = await landing()
      const addresses: string[] = []
      for (const sequence of [1, 2, 3])
        addresses.push(await store.land(headOf({ sequence }), bytes(`{"data":[{"ID":"c${sequence}"}]}`)))
      const [listed, heads] = [await store.list(), await Promise.all(addresses.map(store.head))]
      const read = await readByDuckDb(await store.files(addresses.slice(1)))
      expect([...read]).toEqual([
        [addresses[1], '[{"ID":"c2"}]'],
        [addresses[2], '[{"ID":"c3"}]'],
      ])
      for (const nowMs of [SENT_AT_MS, TOMORROW_MS, TOMORROW_MS])
        await store.compact(
          (await store.folders()).map(({ folder }) => folder),
          nowMs,
        )
      expect(await store.list()).toEqual(listed)
      expect(await Promise.all(addresses.map(store.head))).toEqual(heads)
      expect((await store.body(addresses[1]!)).toString()).toBe('{"data":[{"ID":"c2"}]}')
      await store.verifyChecksums(addresses.map((address, index) => ({ address, head: heads[index]! })))
      expect(await readByDuckDb(await store.files(addresses.slice(1)))).toEqual(read)
      expect((await failureOf(store.land(headOf({ sequence: 2 }), bytes('{}')))).code).toBe('LANDING_TAKEN')
    })
  })

  describe('erasing', () => {
    it('removes only the pages of these addresses, and can be repeated', async () => {
      const store = await landing()
      const [first, second, third] = [
        await store.land(headOf({ sequence: 1 }), bytes('{}')),
        await store.land(headOf({ sequence: 2 }), bytes('{}')),
        await store.land(headOf({ sequence: 1, agentId: 'other' }), bytes('{}')),
      ]
      await store.erase([first, third])
      await store.erase([first, third])
      expect((await store.list()).map(({ address }) => address)).toEqual([second])
      expect(await store.find(headOf({ sequence: 1 }).place)).toBeNull()
      expect((await failureOf(store.body(first))).code).toBe('LANDING_CORRUPT')
    })
  })

  describe('rewriting', () => {
    const compacted = async (store: Landing) =>
      store.compact(
        (await store.folders()).map(({ folder }) => folder),
        TOMORROW_MS,
      )
    const withoutJane: Change = ({ head, body }) => {
      const text = body.toString().replaceAll('"jane"', '')
      return text === body.toString() ? null : { head: { ...head, forgotten: 1 }, body: bytes(text) }
    }

    it.each(['pages', 'bundles'])(
      'replaces the heads and bodies of %s under the same addresses, and no others',
      async kind => {
        const store = await landing()
        const bodies = ['{"data":["jane"]}', '{"data":["john"]}', '{"data":[]}']
        const addresses: string[] = []
        for (const [index, body] of bodies.entries())
          addresses.push(await store.land(headOf({ sequence: index + 1 }), bytes(body)))
        const other = await store.land(headOf({ agentId: 'other' }), bytes('{"data":["jane"]}'))
        if (kind === 'bundles') await compacted(store)
        const heads = await Promise.all(addresses.map(store.head))
        const listed = await store.list()
        const seen: string[] = []
        const only = [addresses[0]!.slice(0, addresses[0]!.lastIndexOf('/'))]
        const change: Change = page => {
          seen.push(`${page.address} ${page.body}`)
          return withoutJane(page)
        }
        expect(await store.rewrite(change, only)).toBe(1)
        expect(seen.sort()).toEqual(addresses.map((address, index) => `${address} ${bodies[index]}`))
        expect(await store.list()).toEqual(listed)
        const now = await Promise.all(addresses.map(store.head))
        expect(now).toEqual([
          { ...heads[0]!, forgotten: 1, bodyBytes: 11, packed: expect.anything() },
          ...heads.slice(1),
        ])
        expect(now[0]!.packed).not.toEqual(heads[0]!.packed)
        expect((await store.body(addresses[0]!)).toString()).toBe('{"data":[]}')
        expect((await store.body(addresses[1]!)).toString()).toBe(bodies[1])
        expect((await store.body(other)).toString()).toContain('jane')
        await store.verifyChecksums(addresses.map((address, index) => ({ address, head: now[index]! })))
        expect([...(await readByDuckDb(await store.files(addresses)))].sort()).toEqual(
          addresses.map((address, index) => [address, ['[]', '["john"]', '[]'][index]]),
        )
        expect((await failureOf(store.land(headOf(), bytes('{}')))).code).toBe('LANDING_TAKEN')
        // Without folders it reads all of them; what is replaced already stays.
        expect(await store.rewrite(withoutJane)).toBe(1)
        expect(await store.rewrite(withoutJane)).toBe(0)
        expect((await store.body(other)).toString()).toBe('{"data":[]}')
      },
    )

    it('erases pages from files and bundles, and changes nothing if nothing is to be changed', async () => {
      const store = await landing()
      for (const sequence of [1, 2, 3]) await store.land(headOf({ sequence }), bytes(`{"data":[${sequence}]}`))
      await compacted(store)
      await store.land(headOf({ sequence: 4 }), bytes('{"data":[4]}'))
      const addresses = (await store.list()).map(({ address }) => address)
      expect(await store.rewrite(() => null)).toBe(0)
      const isEven = ({ head }: { head: PageHead }) => head.place.sequence % 2 === 0
      expect(await store.rewrite(page => (isEven(page) ? 'erase' : null))).toBe(2)
      expect((await store.list()).map(({ address }) => address)).toEqual([addresses[0], addresses[2]])
      expect((await store.body(addresses[2]!)).toString()).toBe('{"data":[3]}')
      expect((await failureOf(store.body(addresses[1]!))).code).toBe('LANDING_CORRUPT')
      expect(await store.rewrite(() => 'erase')).toBe(1)
      expect(await store.list()).toEqual([])
    })

    it('removes answers that are not JSON, of its own workspace', async () => {
      const { store } = await open()
      const [own, other] = [store.workspace('ws'), store.workspace('ws2')]
      expect(await own.eraseFailed({ dryRun: false })).toBe(0)
      for (const [index, of] of [own, own, other].entries())
        await of.landFailed({ atMs: index, agentId: 'a', status: 502, body: bytes('<html>jane') })
      expect(await own.eraseFailed({ dryRun: true })).toBe(2)
      expect(await own.eraseFailed({ dryRun: false })).toBe(2)
      expect(await own.eraseFailed({ dryRun: true })).toBe(0)
      expect(await other.eraseFailed({ dryRun: true })).toBe(1)
    })
  })

  describe('expiry', () => {
    it('removes folders with all their pages, in files and bundles, records them, and can be repeated', async () => {
      const store = await landing()
      const second = { window: OCTOBER, generation: 2 }
      for (const sequence of [1, 2, 3]) {
        await store.land(headOf({ window: OCTOBER, sequence }), bytes(`{"data":[${sequence}]}`))
        await store.land(headOf({ ...second, sequence }), bytes('{"data":[]}'))
        if (sequence === 2)
          await store.compact(
            (await store.folders()).map(({ folder }) => folder),
            TOMORROW_MS,
          )
      }
      await store.land(headOf({ stream: 'agents', agentId: null, window: OCTOBER }), bytes('{}'))
      const kept = [
        await store.land(headOf({ ...second, agentId: 'other' }), bytes('{"data":[]}')),
        await store.land(headOf({ window: NOVEMBER }), bytes('{}')),
      ]
      await store.landFailed({ atMs: 7, agentId: 'a', status: 502, body: bytes('<html>') })
      expect([...(await store.expired())]).toEqual([])
      const folder = 'ws/conversations/agent-1/2026-10'
      const expired = [
        { folder, pages: 6 },
        { folder: 'ws/agents/2026-10', pages: 1 },
      ]
      await store.expire(expired, { beforeMs: 8, nowMs: SENT_AT_MS })
      expect((await store.list()).map(({ address }) => address)).toEqual(kept)
      expect((await store.folders()).map(found => found.folder)).not.toContain(folder)
      await store.expire([{ folder, pages: 0 }], { beforeMs: 8, nowMs: SENT_AT_MS })
      expect([...(await store.expired())]).toEqual(expired.map(({ folder, pages }) => [folder, pages]))
      expect(await store.list()).toHaveLength(2)
    })
  })

  describe('runs', () => {
    it('are read back with their beginning and end, from all months', async () => {
      const store = await landing()
      const begun = { run: 'a', origin: 'sync', host: 'embedded', startedMs: SENT_AT_MS } as const
      await store.noteRun(begun, SENT_AT_MS)
      await store.noteRun({ run: 'a', endedMs: SENT_AT_MS + 1 }, Date.UTC(2026, 11, 1))
      await store.noteRun({ run: 'never-begun', fullsDroppedMs: 5 }, SENT_AT_MS)
      expect(await store.runs()).toEqual([{ ...begun, endedMs: SENT_AT_MS + 1 }])
      expect(await store.fullsDroppedMs()).toBe(5)
    })
  })

  describe('a landing', () => {
    it('has a random id from its first use on, and keeps it', async () => {
      const { store } = await open()
      expect(await store.id()).toBeNull()
      const ids = await Promise.all([store.ensureId(), store.ensureId()])
      expect(new Set([...ids, await store.ensureId(), await store.id()]).size).toBe(1)
      expect(await (await open()).store.ensureId()).not.toBe(ids[0])
    })

    it('exists once something was stored, and counts its bytes by workspace and in total', async () => {
      const { store } = await open()
      expect([await store.exists(), await store.storedBytes()]).toEqual([false, 0])
      await store.probe()
      expect(await store.exists()).toBe(false)
      await store.reserve()
      await store.workspace('a').land(headOf(), bytes('{}'))
      await store.workspace('b').land(headOf(), bytes('{}'))
      expect(await store.exists()).toBe(true)
      const [a, b] = [await store.workspace('a').storedBytes(), await store.workspace('b').storedBytes()]
      expect(Math.min(a, b)).toBeGreaterThan(0)
      expect(await store.storedBytes()).toBe(a + b)
      await store.probe()
      expect(await store.storedBytes()).toBe(a + b)
    })
  })
}
