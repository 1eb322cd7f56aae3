import { cp, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { openLanding } from '../../src/landing/folder-landing.ts'
import type { Landing } from '../../src/landing/landing.ts'
import { openPolls } from '../../src/landing/poll-log.ts'
import { landedFile } from './landed-file.ts'
import { bytes, failureOf } from './landing-contract.ts'
import { headOf, pollHead, SENT_AT_MS } from './page-heads.ts'
import { temporaryHome } from './temporary-home.ts'

const EMPTY = bytes('{"success":true,"data":[],"hasMore":false,"usage":{"billableUsedThisPeriod":7}}')
const ONE = bytes('{"data":[{"ID":"c1"}]}')

async function landing() {
  const home = await temporaryHome()
  const month = join(home, 'landing/ws/polls/2026-11')
  return { home, month, store: openLanding(home).workspace('ws') }
}

/** The landing as another process opens it: with a poll log of its own. */
async function otherProcess(home: string): Promise<Landing> {
  vi.resetModules()
  const other = await import('../../src/landing/folder-landing.ts')
  return other.openLanding(home).workspace('ws')
}

/** Makes every poll log of a month look as if nobody had written to it for a day. */
async function quiet(month: string): Promise<void> {
  const yesterday = new Date(Date.now() - 86_400_000)
  for (const name of await readdir(month)) await utimes(join(month, name), yesterday, yesterday)
}

const addressesOf = async (store: Landing) => (await store.list()).map(({ address }) => address)

describe('a page that brought nothing', () => {
  it('is a line of one log, and is read like any other page', async () => {
    const { home, month, store } = await landing()
    const head = pollHead({}, 0)
    const address = await store.land(head, EMPTY)
    await store.land(pollHead({ sequence: 2 }), EMPTY)
    expect(await readdir(dirname(landedFile(home, address)))).toEqual(['polled'])
    expect(await readdir(month)).toHaveLength(1)
    expect(await store.head(address)).toEqual({ ...head, bodyBytes: EMPTY.length })
    expect(await store.body(address)).toEqual(EMPTY)
    expect(await store.find(head.place)).toEqual({ address, head: await store.head(address) })
    expect((await store.list()).map(({ sequence }) => sequence)).toEqual([1, 2])
    expect(await store.list('agents')).toEqual([])
    const [folder] = await store.folders()
    expect(await store.listFolders([folder!.folder])).toEqual(await store.list())
    await store.verifyChecksums([{ address, head }])
  })

  it('keeps every byte of its body, in a file if a line cannot hold it', async () => {
    const { store } = await landing()
    let sequence = 0
    const body = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.string({ unit: 'binary' }).map(bytes))
    await fc.assert(
      fc.asyncProperty(body, async body => {
        const address = await store.land(pollHead({ sequence: ++sequence }), body)
        expect(Buffer.compare(await store.body(address), body)).toBe(0)
      }),
      { numRuns: 50 },
    )
    const long = await store.land(pollHead({ sequence: ++sequence }), Buffer.alloc(20_000, 'x'))
    expect(await store.body(long)).toHaveLength(20_000)
    expect(await store.list()).toHaveLength(sequence)
  })

  it('is listed below its folder also in a copy of the landing that lacks empty folders', async () => {
    const { home, store } = await landing()
    const address = await store.land(pollHead(), EMPTY)
    const folders = (await store.folders()).map(({ folder }) => folder)
    const copy = await temporaryHome()
    for (const entry of await readdir(home, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) {
        const path = join(entry.parentPath, entry.name)
        await cp(path, join(copy, relative(home, path)))
      }
    const copied = openLanding(copy).workspace('ws')
    expect((await copied.folders()).map(({ folder }) => folder)).toEqual(folders)
    expect((await copied.listFolders(folders)).map(page => page.address)).toEqual([address])
    await copied.expire([{ folder: folders[0]!, pages: 1 }], { beforeMs: 0, nowMs: SENT_AT_MS })
    expect([await copied.folders(), await copied.list()]).toEqual([[], []])
  })

  it.each([
    ['brought a conversation', pollHead({}, 1)],
    ['was refused', { ...pollHead(), status: 404 }],
    ['is a listing', headOf({ stream: 'agents', agentId: null })],
  ])('has a file if it %s', async (_which, head) => {
    const { home, store } = await landing()
    const address = await store.land(head, EMPTY)
    expect(await readFile(landedFile(home, address))).not.toHaveLength(0)
  })

  it('can be erased, from the log that is being written and from a merged one, and lands again', async () => {
    const { home, month, store } = await landing()
    const [first, second] = [await store.land(pollHead(), EMPTY), await store.land(pollHead({ sequence: 2 }), EMPTY)]
    await store.erase([first])
    await store.erase([first])
    expect(await addressesOf(store)).toEqual([second])
    expect((await failureOf(store.body(first))).code).toBe('LANDING_CORRUPT')
    expect(await store.land(pollHead(), EMPTY)).toBe(first)
    await quiet(month)
    await openPolls(join(home, 'landing'), 'ws').merge(['2026-11'], SENT_AT_MS)
    await store.erase([second])
    expect(await addressesOf(store)).toEqual([first])
  })
})

describe('a log', () => {
  it('that was cut off anywhere loses only its last line, and lines of a later process are read behind it', async () => {
    const { home, month, store } = await landing()
    for (const sequence of [1, 2]) await store.land(pollHead({ sequence }), EMPTY)
    const file = join(month, (await readdir(month))[0]!)
    const whole = await readFile(file)
    const second = whole.lastIndexOf('\n{')
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: second, max: whole.length - 2 }), async end => {
        await writeFile(file, Buffer.concat([whole.subarray(0, end), whole.subarray(0, second)]))
        expect((await openLanding(home).workspace('ws').list()).map(({ sequence }) => sequence)).toEqual([1])
      }),
      { numRuns: 30 },
    )
  })

  it('is merged with the others once they are quiet: nothing changes but the number of files', async () => {
    const { home, month, store } = await landing()
    const addresses: string[] = []
    for (let sequence = 1; sequence <= 4; sequence++) {
      const process = sequence % 2 ? store : await otherProcess(home)
      addresses.push(await process.land(pollHead({ sequence }), bytes(`{"data":[],"n":${sequence}}`)))
    }
    const heads = await Promise.all(addresses.map(store.head))
    const polls = openPolls(join(home, 'landing'), 'ws')
    await polls.merge(['2026-11'], SENT_AT_MS)
    expect((await readdir(month)).every(name => name.endsWith('.ndjson'))).toBe(true)
    await quiet(month)
    await polls.merge(['2026-11'], SENT_AT_MS)
    expect(await readdir(month)).toEqual([expect.stringMatching(/^20261120-20261120\..*\.ndjson\.gz$/)])
    for (const reader of [store, openLanding(home).workspace('ws')]) {
      expect(await addressesOf(reader)).toEqual(addresses)
      expect(await Promise.all(addresses.map(reader.head))).toEqual(heads)
      expect((await reader.body(addresses[3]!)).toString()).toBe('{"data":[],"n":4}')
    }
    const error = await failureOf((await otherProcess(home)).land(pollHead({ sequence: 3 }), EMPTY))
    expect(error.code).toBe('LANDING_TAKEN')
    // A merged log that has not changed is not merged again.
    const merged = await readdir(month)
    await polls.merge(['2026-11'], SENT_AT_MS)
    expect(await readdir(month)).toEqual(merged)
  })

  it('that was merged and is damaged is named; a page still lands beside it, and another process reads it once it is restored', async () => {
    const { home, month, store } = await landing()
    for (const sequence of [1, 2]) await store.land(pollHead({ sequence }), EMPTY)
    const all = await addressesOf(store)
    await quiet(month)
    await openPolls(join(home, 'landing'), 'ws').merge(['2026-11'], SENT_AT_MS)
    const file = join(month, (await readdir(month))[0]!)
    const intact = await readFile(file)
    const names = { code: 'LANDING_CORRUPT', message: expect.stringContaining(file) as string }
    const fresh = () => openLanding(home).workspace('ws')
    for (const damaged of [Buffer.alloc(0), Buffer.from('garbage'), intact.subarray(20), intact.subarray(0, 20)]) {
      await writeFile(file, damaged)
      expect(await failureOf(fresh().list())).toMatchObject(names)
    }
    expect(await failureOf(fresh().land(pollHead({ sequence: 3 }), EMPTY))).toMatchObject(names)
    // The addresses are intact, a line is not.
    await writeFile(file, intact.subarray(0, -20))
    expect((await fresh().list()).map(({ sequence }) => sequence)).toEqual([1, 2, 3])
    expect(await failureOf(fresh().body(all[0]!))).toMatchObject(names)
    await writeFile(file, intact)
    expect(await Promise.all(all.map(fresh().body))).toEqual([EMPTY, EMPTY])
  })

  it('that is merged while its process writes to it loses no line', async () => {
    const { home, month, store } = await landing()
    const polls = openPolls(join(home, 'landing'), 'ws')
    let isWriting = true
    const write = async () => {
      for (let sequence = 1; sequence <= 60; sequence++) await store.land(pollHead({ sequence }), EMPTY)
      isWriting = false
    }
    const merge = async () => {
      while (isWriting) {
        await quiet(month).catch(() => {})
        await polls.merge(['2026-11'], SENT_AT_MS)
      }
    }
    const read = async () => {
      let most = 0
      while (isWriting) {
        const { length } = await store.list()
        expect(length).toBeGreaterThanOrEqual(most)
        most = length
      }
    }
    await Promise.all([write(), merge(), read()])
    await quiet(month)
    await polls.merge(['2026-11'], SENT_AT_MS)
    expect((await readdir(month)).length).toBe(1)
    expect((await openLanding(home).workspace('ws').list()).map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 60 }, (_, index) => index + 1),
    )
  })
})

describe('a long-lived reader', () => {
  it('lists what a new one lists, whatever was landed, merged and erased by any process', async () => {
    const { home, month, store } = await landing()
    const processes = [store, await otherProcess(home)]
    const reader = openLanding(home).workspace('ws')
    const polls = openPolls(join(home, 'landing'), 'ws')
    let sequence = 0
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ by: fc.nat(1), day: fc.constantFrom('20261120', '20261121') }) },
      { weight: 1, arbitrary: fc.constant('merge' as const) },
      { weight: 1, arbitrary: fc.constant('erase' as const) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async steps => {
        for (const step of steps) {
          if (step === 'merge') {
            await quiet(month).catch(() => {})
            await polls.merge(['2026-11'], SENT_AT_MS)
          } else if (step === 'erase') {
            const addresses = await addressesOf(reader)
            await reader.erase(addresses.filter((_, index) => index % 2 === 0))
          } else {
            const window = `${step.day}T000000000Z-head-1-2`
            await processes[step.by]!.land(pollHead({ window, sequence: ++sequence }), EMPTY)
          }
          const fresh = openLanding(home).workspace('ws')
          expect(await addressesOf(reader)).toEqual(await addressesOf(fresh))
        }
      }),
      { numRuns: 15 },
    )
    for (const { address } of await reader.list()) expect(await reader.body(address)).toEqual(EMPTY)
  })

  it('ignores other files beside the logs', async () => {
    const { home, month, store } = await landing()
    await store.land(pollHead(), EMPTY)
    await writeFile(join(home, 'landing/ws/polls/.DS_Store'), 'x')
    await writeFile(join(month, 'notes.txt'), 'x')
    expect(await store.list()).toHaveLength(1)
  })
})

describe('a page name', () => {
  it('is taken also where its process has begun the log of the next day meanwhile', async () => {
    const { store } = await landing()
    const before = { window: '20261120T235900000Z-head-1-2' }
    const address = await store.land(pollHead(before), EMPTY)
    await store.land(pollHead({ window: '20261121T000100000Z-head-1-2' }), EMPTY)
    await store.land(pollHead({ ...before, sequence: 2 }), EMPTY)
    expect((await store.find(pollHead(before).place))?.address).toBe(address)
    expect((await failureOf(store.land(pollHead(before), EMPTY))).code).toBe('LANDING_TAKEN')
  })

  it('is taken once, whichever process comes first and whatever each of them received', async () => {
    const { home, store } = await landing()
    const processes = [store, await otherProcess(home), await otherProcess(home)]
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), fc.nat(1_000), async (found, n) => {
        const address = { sequence: n + 1, generation: ++generation }
        const outcomes = await Promise.allSettled(
          processes.map((process, index) =>
            found[index]
              ? process.land(pollHead(address, 1), bytes(`{"data":[{"ID":"${index}"}]}`))
              : process.land(pollHead(address), bytes(`{"data":[],"of":${index}}`)),
          ),
        )
        const winners = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [index] : []))
        expect(winners.length).toBeLessThanOrEqual(1)
        for (const outcome of outcomes)
          if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'LANDING_TAKEN' })
        const listed = (await processes[0]!.list()).filter(page => page.generation === generation)
        expect(listed).toHaveLength(1)
        if (winners.length === 1)
          expect((await processes[1]!.body(listed[0]!.address)).toString()).toContain(String(winners[0]))
      }),
      { numRuns: 40 },
    )
  })

  it('that a file and a line have is that of the file; of several lines the first counts', async () => {
    const { home, store } = await landing()
    const polls = openPolls(join(home, 'landing'), 'ws')
    const head = (receivedAtMs: number) => ({ ...pollHead(), receivedAtMs })
    const address = await store.land(head(5), bytes('{"data":[],"of":"first"}'))
    await polls.append(address, { head: head(6), body: bytes('{"data":[],"of":"later"}') })
    vi.resetModules()
    const other = await import('../../src/landing/poll-log.ts')
    await other.openPolls(join(home, 'landing'), 'ws').append(address, { head: head(4), body: EMPTY })
    expect(await openLanding(home).workspace('ws').body(address)).toEqual(EMPTY)
    const page = headOf({ sequence: 9 })
    const inFile = await store.land(page, ONE)
    await polls.append(inFile, { head: pollHead({ sequence: 9 }), body: EMPTY })
    expect(await store.body(inFile)).toEqual(ONE)
    expect(await addressesOf(store)).toEqual([address, inFile])
  })
})

let generation = 1
