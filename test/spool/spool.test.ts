// A spool on a real disk: group commit, sealing, and what other processes read.
import { appendFile, mkdir, readdir, readFile, rename, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SpoolEvent } from '../../src/spool/event-line.ts'
import { type SpoolFolders, spoolFolders } from '../../src/spool/folders.ts'
import { readSegment } from '../../src/spool/read-segment.ts'
import { openSegments, sealAbandoned, sealedSegments } from '../../src/spool/segments.ts'
import { openSpool, type SpoolOptions } from '../../src/spool/spool.ts'
import { countWaiting } from '../../src/spool/waiting.ts'
import { type Commit, SpoolWriter } from '../../src/spool/writer.ts'
import { temporaryHome } from '../landing/temporary-home.ts'
import { until } from '../until.ts'
import { spoolEvent } from './arbitrary-events.ts'

const events = (count: number, from = 0): SpoolEvent[] =>
  Array.from({ length: count }, (_, index) => spoolEvent({ createdAt: from + index, text: 'ä' }))

const NEVER = { sealAfterMs: 3_600_000, sealAfterBytes: 2 ** 40 }

async function spool(options: Partial<SpoolOptions> = {}) {
  const home = await temporaryHome()
  const folders = spoolFolders(home, 'ws')
  return { home, folders, opened: openSpool({ home, now: () => 1_763_745_000_123, ...NEVER, ...options }) }
}

const appendAll = (opened: ReturnType<typeof openSpool>, given: readonly SpoolEvent[]) =>
  Promise.all(given.map(event => opened.append(event)))

/** Returns the ids of the events in all sealed segments, oldest first. */
async function sealedIds(home: string): Promise<string[]> {
  const read = await Promise.all((await sealedSegments(home, 'ws')).map(readSegment))
  expect(read.flatMap(({ torn, damaged }) => [...torn, ...damaged])).toEqual([])
  return read.flatMap(segment => idsOf(segment.events))
}

const idsOf = (given: readonly SpoolEvent[]) => given.map(({ id }) => id)

/** Returns the name of the only segment with contents; the next one is opened in advance. */
async function written({ open }: SpoolFolders): Promise<string> {
  const found = await Promise.all(
    (await readdir(open)).map(async name => ({ name, size: (await stat(join(open, name))).size })),
  )
  return found.find(({ size }) => size > 0)!.name
}

const longAgo = (file: string) => utimes(file, 1, 1)

describe('an event', () => {
  it('is in a file of its owner only when its append resolves', async () => {
    const { folders, opened, home } = await spool()
    const [event] = events(1)
    await opened.append(event!)
    const file = join(folders.open, await written(folders))
    expect(idsOf((await readSegment(file)).events)).toEqual([event!.id])
    expect([(await stat(file)).mode & 0o777, (await stat(folders.open)).mode & 0o777]).toEqual([0o600, 0o700])
    await opened.close()
    const [sealed] = await sealedSegments(home, 'ws')
    expect((await stat(sealed!)).mode & 0o777).toBe(0o600)
  })

  it('shares an fsync with those that arrive while one runs', async () => {
    const commits: Commit[] = []
    const { opened, home } = await spool({ onCommit: commit => commits.push(commit) })
    const given = events(200)
    await appendAll(opened, given)
    expect(commits.map(commit => commit.events)).toEqual([200])
    const first = opened.append(given[0]!)
    await new Promise(resolve => setImmediate(resolve))
    await appendAll(opened, given.slice(1, 9)).then(() => first)
    expect(commits.map(commit => commit.events)).toEqual([200, 1, 8])
    await opened.close()
    expect(await sealedIds(home)).toEqual([...idsOf(given), ...idsOf(given.slice(0, 9))])
  })
})

describe('segments', () => {
  it('are sealed by size and by age, in order of arrival, none empty', async () => {
    const { opened, home, folders } = await spool({ sealAfterBytes: 1_000 })
    const given = events(30)
    for (let at = 0; at < given.length; at += 3) await appendAll(opened, given.slice(at, at + 3))
    await opened.close()
    expect((await sealedSegments(home, 'ws')).length).toBeGreaterThan(3)
    expect(await sealedIds(home)).toEqual(idsOf(given))
    expect(await readdir(folders.open)).toEqual([])

    const aging = openSpool({ home, now: () => 1_763_745_100_000, sealAfterMs: 20, sealAfterBytes: 2 ** 40 })
    const before = (await sealedSegments(home, 'ws')).length
    await appendAll(aging, given)
    await until(async () => (await sealedSegments(home, 'ws')).length !== before, { everyMs: 5 })
    await aging.close()
  })

  it('of several receivers are stored side by side, with all events of each', async () => {
    const home = await temporaryHome()
    const spools = [0, 1, 2].map(() => openSpool({ home, now: () => 1, sealAfterMs: 1_000, sealAfterBytes: 600 }))
    const given = events(40)
    await Promise.all(given.map((event, index) => spools[index % 3]!.append(event)))
    await Promise.all(spools.map(one => one.close()))
    expect((await sealedIds(home)).sort()).toEqual(idsOf(given).sort())
  })
})

describe('a segment of a killed receiver', () => {
  it('is distinguished from one of a live receiver', async () => {
    const { home, folders, opened } = await spool()
    await appendAll(opened, events(2))
    const lives = async () => (await openSegments(home, 'ws', Date.now())).map(({ writerLives }) => writerLives)
    expect(await lives()).toContain(true)
    for (const name of await readdir(folders.open)) await longAgo(join(folders.open, name))
    expect(await lives()).not.toContain(true)
    expect(await sealAbandoned(home, 'ws', 0)).toEqual([])
    await opened.close()
  })

  it('is sealed without its torn end, once, however many try', async () => {
    const { home, folders, opened } = await spool()
    const given = events(4)
    await appendAll(opened, given.slice(0, 3))
    await opened.append(given[3]!)
    const file = join(folders.open, await written(folders))
    await appendFile(file, (await readFile(file)).subarray(0, 60))
    await longAgo(file)
    const outcomes = (await Promise.all([1, 2, 3].map(() => sealAbandoned(home, 'ws', Date.now())))).flat()
    expect(outcomes.length).toBeGreaterThan(0)
    for (const one of outcomes) expect(one).toMatchObject({ events: 4, damaged: [], torn: [{ bytes: 60 }] })
    expect(await sealedIds(home)).toEqual(idsOf(given))
    expect(await readdir(folders.abandoned)).toEqual([])
    await opened.close()
    expect(await sealedIds(home)).toEqual(idsOf(given))
  })

  it('is sealed even if a process was killed while sealing it', async () => {
    const { home, folders, opened } = await spool()
    const given = events(3)
    await appendAll(opened, given)
    await opened.close()
    const [sealed] = await sealedSegments(home, 'ws')
    const name = sealed!.split('/').at(-1)!
    // Simulates a kill after the link, then one after the rename.
    await writeFile(join(folders.open, name), await readFile(sealed!))
    await longAgo(join(folders.open, name))
    await sealAbandoned(home, 'ws', Date.now())
    await rename(sealed!, join(folders.abandoned, name))
    await sealAbandoned(home, 'ws', Date.now())
    expect([await sealedIds(home), await readdir(folders.open), await readdir(folders.abandoned)]).toEqual([
      idsOf(given),
      [],
      [],
    ])
  })

  it('keeps its file if a part is damaged, and all events that can be read', async () => {
    const { home, folders, opened } = await spool()
    const given = events(3)
    for (const event of given) await opened.append(event)
    const name = await written(folders)
    const file = join(folders.open, name)
    const bytes = await readFile(file)
    bytes[40]! ^= 1
    await writeFile(file, bytes)
    await longAgo(file)
    expect(await sealAbandoned(home, 'ws', Date.now())).toMatchObject([{ events: 2, torn: [], damaged: [{ at: 0 }] }])
    expect(await sealedIds(home)).toEqual(idsOf(given).slice(1))
    expect(await readdir(folders.abandoned)).toEqual([`${name}.damaged`])
    await opened.close()
  })
})

it('a writer that was presumed dead acknowledges no event that is lost', async () => {
  const { home, folders } = await spool()
  const writer = new SpoolWriter({ folders, now: () => 1, ...NEVER })
  const given = events(20)
  const acknowledged: string[] = []
  for (const event of given) {
    const appending = writer.append(event).then(() => acknowledged.push(event.id))
    // For some events the segment is abandoned after the append, for the others during it.
    if (event.id < '8') await appending
    for (const name of await readdir(folders.open).catch(() => []))
      await longAgo(join(folders.open, name)).catch(() => {})
    await sealAbandoned(home, 'ws', Date.now())
    await appending
  }
  await writer.close()
  const found = await sealedIds(home)
  expect(acknowledged.sort()).toEqual(idsOf(given).sort())
  expect(new Set(found)).toEqual(new Set(acknowledged))
})

it('a disk that refuses writes is reported, and used again once it accepts them', async () => {
  const { folders, opened, home } = await spool()
  const [first, second] = events(2)
  await opened.append(first!)
  // A missing folder fails appends like a full disk does; test/faults tests a real full disk.
  const away = `${folders.open}-away`
  await rename(folders.open, away)
  await expect(opened.append(second!)).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
  await rename(away, folders.open)
  await opened.append(second!)
  await opened.close()
  for (const name of await readdir(folders.open)) await longAgo(join(folders.open, name))
  await sealAbandoned(home, 'ws', Date.now())
  expect(new Set(await sealedIds(home))).toEqual(new Set(idsOf([first!, second!])))
})

it('waiting events are counted as they come and go, even if one cannot be read', async () => {
  const { home, opened } = await spool()
  const waiting = countWaiting(home, 'ws')
  expect(await waiting()).toMatchObject({ events: 0, bytes: 0 })
  const [first, ...more] = events(4)
  await opened.append(first!)
  expect((await waiting()).events).toBe(1)
  await appendAll(opened, more)
  const { bytes } = await waiting()
  expect(await waiting()).toMatchObject({ events: 4, bytes })
  await opened.close()
  expect(await waiting()).toMatchObject({ events: 4, bytes })
  // The segment is truncated, as its writer does after a failed write.
  const [sealed] = await sealedSegments(home, 'ws')
  await truncate(sealed!, (await readFile(sealed!)).indexOf('\n') + 1)
  expect((await waiting()).events).toBe(1)
  await rm(sealed!)
  expect(await waiting()).toEqual({ events: 0, bytes: 0, sinceMs: null, unreadable: 0 })
  // A folder in place of the segment cannot be read.
  await mkdir(sealed!)
  expect(await waiting()).toEqual({ events: 0, bytes: 0, sinceMs: 1_763_745_000_123, unreadable: 1 })
})

it('workspace ids never lead out of the spool', () => {
  expect(spoolFolders('/home', '../../etc').sealed).toBe('/home/spool/%2E%2E%2F..%2Fetc/sealed')
})
