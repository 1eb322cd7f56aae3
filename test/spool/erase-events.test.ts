import { appendFile, cp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import { archiveSegments, packArchive, removeSegments } from '../../src/spool/archive.ts'
import { eraseEvents } from '../../src/spool/erase-events.ts'
import type { SpoolEvent } from '../../src/spool/event-line.ts'
import { spoolFolders } from '../../src/spool/folders.ts'
import { archivedEvent, archivedEvents } from '../../src/spool/read-archive.ts'
import { keepDamaged, readSegment } from '../../src/spool/read-segment.ts'
import { sealedSegments } from '../../src/spool/segments.ts'
import { flipped } from '../landing/flipped.ts'
import { failureOf } from '../landing/landing-contract.ts'
import { temporaryHome } from '../landing/temporary-home.ts'
import { receiveEvents } from './arbitrary-events.ts'

const NOW_MS = Date.UTC(2026, 10, 20, 12)

const textOf = (event: SpoolEvent): string => JSON.parse(Buffer.from(event.payload).toString()).text

const isJane = (event: SpoolEvent | null): boolean => event === null || textOf(event).startsWith('jane')

const erase = (home: string, dryRun = false) => eraseEvents({ home, workspaceId: 'ws', dryRun }, isJane)

/** Receives events as one sealed segment, in the order of the texts. */
const receive = (home: string, ...texts: string[]) =>
  receiveEvents(
    { home, workspaceId: 'ws', nowMs: NOW_MS },
    texts.map(text => ({ event: 'message_received', text })),
  )

/** Archives all sealed segments. @returns the address of each event by its text, and the archive file */
async function archive(home: string, nowMs = NOW_MS) {
  const { drained } = spoolFolders(home, 'ws')
  const sealed = await sealedSegments(home, 'ws')
  const read = await Promise.all(sealed.map(async segment => ({ segment, ...(await readSegment(segment)) })))
  const addresses = await archiveSegments(home, 'ws', { segments: read, nowMs })
  await removeSegments(sealed)
  const events = read.flatMap(({ segment, events }) => {
    const { file, offset } = addresses.get(segment)!
    return events.map(event => [textOf(event), { file, offset: offset + event.at }] as const)
  })
  return { addresses: new Map(events), file: join(drained, '2026-11-20.ndjson') }
}

const contentOf = async (file: string): Promise<string> => {
  const bytes = await readFile(file)
  return (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
}

describe('events in an archive', () => {
  it.each(['plain', 'compressed'])(
    '%s: lines are replaced by spaces, and all others keep their addresses',
    async form => {
      const home = await temporaryHome()
      await receive(home, 'one', 'jane 1', 'two', 'jane 2', 'jänner')
      await receive(home, 'jane 3', 'three')
      const { addresses, file: plain } = await archive(home)
      if (form === 'compressed') await packArchive(home, 'ws', NOW_MS + DAY)
      const file = form === 'plain' ? plain : `${plain}.gz`
      const before = await contentOf(file)
      const counts = { events: 3, files: 1, damaged: 0 }
      expect(await erase(home, true)).toEqual(counts)
      expect(await contentOf(file)).toBe(before)
      expect(await erase(home)).toEqual(counts)
      const after = await contentOf(file)
      expect(after).not.toContain('jane')
      const others = (text: string) =>
        text.split('\n').filter(line => line.includes('"text"') && !line.includes('jane'))
      expect(others(after)).toEqual(others(before))
      expect(Buffer.byteLength(after)).toBe(Buffer.byteLength(before))
      for (const text of ['one', 'two', 'three', 'jänner'])
        expect(textOf(await archivedEvent(home, addresses.get(text)!))).toBe(text)
      for (const text of ['jane 1', 'jane 2', 'jane 3'])
        expect(await failureOf(archivedEvent(home, addresses.get(text)!))).toMatchObject({ code: 'SPOOL_CORRUPT' })
      const read: string[] = []
      for await (const event of archivedEvents(file, error => expect.fail(String(error)))) read.push(textOf(event))
      expect(read.sort()).toEqual(['jänner', 'one', 'three', 'two'])
      expect((await stat(file)).mode & 0o777).toBe(0o600)
      // A kill before the erasure was recorded repeats it.
      expect(await erase(home)).toEqual({ events: 0, files: 0, damaged: 0 })
      expect(await readdir(spoolFolders(home, 'ws').drained)).toHaveLength(1)
    },
  )

  it('are followed by later events, whose addresses are valid, and a file without them is not written', async () => {
    const home = await temporaryHome()
    await receive(home, 'jane 1')
    const { file } = await archive(home)
    await erase(home)
    await receive(home, 'one')
    const { addresses } = await archive(home)
    expect(textOf(await archivedEvent(home, addresses.get('one')!))).toBe('one')
    const { ino, mtimeMs } = await stat(file)
    expect(await erase(home)).toEqual({ events: 0, files: 0, damaged: 0 })
    expect(await stat(file)).toMatchObject({ ino, mtimeMs })
  })

  it('are erased from both forms of a day that a kill left', async () => {
    const home = await temporaryHome()
    await receive(home, 'one', 'jane 1')
    const { file } = await archive(home)
    await cp(file, `${file}.copy`)
    await packArchive(home, 'ws', NOW_MS + DAY)
    await cp(`${file}.copy`, file)
    expect(await erase(home)).toMatchObject({ files: 2 })
    for (const path of [file, `${file}.gz`]) expect(await contentOf(path)).not.toContain('jane')
  })

  it('are blanked with the unreadable lines between them, once', async () => {
    const home = await temporaryHome()
    await receive(home, 'one', 'jane 1', 'two')
    const { file, addresses } = await archive(home)
    const bytes = await readFile(file)
    await writeFile(file, flipped(bytes, 8 * bytes.indexOf('jane 1')))
    await appendFile(file, '{"crc":"torn jane')
    expect(await erase(home)).toEqual({ events: 2, files: 1, damaged: 0 })
    expect(await contentOf(file)).not.toMatch(/jane|ane 1|torn/)
    expect(textOf(await archivedEvent(home, addresses.get('two')!))).toBe('two')
    expect(await erase(home)).toEqual({ events: 0, files: 0, damaged: 0 })
  })

  it('cannot be found in an archive that is cut off, which is reported and stays as it is', async () => {
    const home = await temporaryHome()
    await receive(home, 'one', 'jane 1')
    const { file } = await archive(home)
    await packArchive(home, 'ws', NOW_MS + DAY)
    const packed = await readFile(`${file}.gz`)
    const cut = packed.subarray(0, packed.length - 12)
    await writeFile(`${file}.gz`, cut)
    expect(await failureOf(erase(home))).toMatchObject({
      code: 'SPOOL_CORRUPT',
      facts: { file: '2026-11-20.ndjson.gz' },
    })
    expect(await readFile(`${file}.gz`)).toEqual(cut)
    expect(await readdir(spoolFolders(home, 'ws').drained)).toEqual(['2026-11-20.ndjson.gz'])
  })
})

describe('events in a sealed segment', () => {
  it('lose their lines, and the others can be drained and archived', async () => {
    const home = await temporaryHome()
    await receive(home, 'one', 'jane 1', 'two')
    expect(await erase(home, true)).toEqual({ events: 1, files: 1, damaged: 0 })
    expect(await erase(home)).toEqual({ events: 1, files: 1, damaged: 0 })
    const [segment] = await sealedSegments(home, 'ws')
    const { events, torn, damaged, bytes } = await readSegment(segment!)
    expect([events.map(textOf), torn, damaged]).toEqual([['one', 'two'], [], []])
    expect(bytes.includes('jane')).toBe(false)
    const { addresses } = await archive(home)
    expect(textOf(await archivedEvent(home, addresses.get('two')!))).toBe('two')
  })

  it('with unreadable lines lose these too, and the copies that were kept of them are removed', async () => {
    const home = await temporaryHome()
    await receive(home, 'one', 'jane 1', 'jane damaged')
    const [segment] = await sealedSegments(home, 'ws')
    const bytes = await readFile(segment!)
    await writeFile(segment!, flipped(bytes, 8 * bytes.indexOf('jane damaged')))
    await appendFile(segment!, '{"crc":"')
    await keepDamaged(segment!)
    expect(await erase(home, true)).toEqual({ events: 3, files: 1, damaged: 1 })
    expect(await readdir(spoolFolders(home, 'ws').sealed)).toHaveLength(2)
    expect(await erase(home)).toEqual({ events: 3, files: 1, damaged: 1 })
    expect(await sealedSegments(home, 'ws')).toEqual([segment])
    expect(await readdir(spoolFolders(home, 'ws').sealed)).toHaveLength(1)
    expect(await readFile(segment!, 'utf8')).not.toMatch(/jane|damaged/)
  })
})

it('erasing from a data folder without a spool finds nothing, and creates nothing', async () => {
  const home = await temporaryHome()
  expect(await erase(home)).toEqual({ events: 0, files: 0, damaged: 0 })
  expect(await readdir(home)).toEqual([])
})
