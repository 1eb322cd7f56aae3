import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ConvohouseError } from '../../src/core/errors.ts'
import type { LeaseGranted } from '../../src/core/governor/lease-entries.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { type LeaseLog, openLeaseLog } from '../../src/landing/lease-log.ts'
import { end, lease, leaseLogContract, NOW, request, USAGE } from './lease-log-contract.ts'
import { temporaryHome } from './temporary-home.ts'

leaseLogContract(async () => {
  const home = await temporaryHome()
  return (run = 'run-1') => openLeaseLog({ home, workspaceId: 'ws', run })
})

async function leaseLogIn(home: string, run = 'run-1'): Promise<LeaseLog> {
  return openLeaseLog({ home, workspaceId: 'ws', run })
}

const folderOf = (home: string): string => join(home, 'landing', 'ws', 'ledger')

async function onlyFile(home: string): Promise<string> {
  const [name, ...more] = await readdir(folderOf(home))
  expect(more).toEqual([])
  return join(folderOf(home), name!)
}

describe('the lease log in files', () => {
  it('has entries on disk when their appends resolve, in order, for its owner only', async () => {
    const home = await temporaryHome()
    const leaseLog = await leaseLogIn(home)
    await Promise.all(Array.from({ length: 200 }, (_, index) => leaseLog.append(lease(NOW, `${index}`))))
    const lines = (await readFile(await onlyFile(home), 'utf8')).trimEnd().split('\n')
    expect(lines.map(line => (JSON.parse(line) as LeaseGranted).lease)).toEqual(lines.map((_, index) => `${index}`))
    expect(JSON.parse(lines[7]!)).toEqual({ ...lease(NOW, '7'), id: expect.any(String) })
    expect((await stat(await onlyFile(home))).mode & 0o777).toBe(0o600)
    expect((await stat(folderOf(home))).mode & 0o777).toBe(0o700)
    await leaseLog.close()
  })

  it('loses nothing that is appended after a truncated line', async () => {
    const home = await temporaryHome()
    const killed = await leaseLogIn(home)
    await killed.append(lease(NOW))
    await killed.close()
    await appendFile(await onlyFile(home), '{"kind":"requ')
    const resumed = await leaseLogIn(home)
    await resumed.append(end(NOW))
    expect(await resumed.recent(NOW, HOUR)).toEqual([lease(NOW), end(NOW)])
    await resumed.close()
  })

  it('sets aside only the entries that are in the future because the clock was set back', async () => {
    const home = await temporaryHome()
    const ahead = await leaseLogIn(home, 'run-a')
    const own = request(NOW - HOUR, { usage: USAGE })
    await ahead.append(own)
    await ahead.append(request(NOW + 24 * HOUR, { usage: USAGE }))
    await ahead.close()
    const leaseLog = await leaseLogIn(home, 'run-b')
    expect(await leaseLog.recent(NOW, HOUR)).toEqual([own])
    expect((await readdir(folderOf(home))).filter(name => name.endsWith('.set-aside'))).toHaveLength(1)
    const fresh = request(NOW, { usage: USAGE })
    await leaseLog.append(fresh)
    expect(await leaseLog.recent(NOW + MINUTE, HOUR)).toEqual([own, fresh])
    await leaseLog.close()
  })

  it('searches for usage no further back than a period may last, counted from its last entries', async () => {
    const home = await temporaryHome()
    const leaseLog = await leaseLogIn(home)
    const old = request(NOW - 80 * DAY, { usage: USAGE })
    await leaseLog.append(old)
    await leaseLog.append(request(NOW - 60 * DAY))
    expect(await leaseLog.recent(NOW, HOUR)).toEqual([old])
    await leaseLog.append(request(NOW - 2 * HOUR))
    // A folder replaces the oldest file: a search that read that far would fail.
    const [first] = (await readdir(folderOf(home))).sort()
    await rm(join(folderOf(home), first!))
    await mkdir(join(folderOf(home), first!))
    expect(await leaseLog.recent(NOW, HOUR)).toEqual([])
    await leaseLog.close()
  })

  it('skips lines that are not entries', async () => {
    const home = await temporaryHome()
    const leaseLog = await leaseLogIn(home)
    await leaseLog.append(lease(NOW))
    await leaseLog.close()
    await appendFile(await onlyFile(home), 'null\n42\n[]\n{"kind":"request"}\n{"atMs":1}\n')
    expect(await leaseLog.recent(NOW, HOUR)).toEqual([lease(NOW)])
  })

  it('reports that it cannot be written, and continues once it can', async () => {
    const home = await temporaryHome()
    await mkdir(join(home, 'landing', 'ws'), { recursive: true })
    await writeFile(folderOf(home), 'a file where a folder should be')
    const leaseLog = await leaseLogIn(home)
    const error = await leaseLog.append(lease(NOW)).catch((reason: ConvohouseError) => reason)
    expect(error).toMatchObject({ code: 'HOME_UNUSABLE' })
    await rm(folderOf(home))
    await leaseLog.append(lease(NOW))
    expect(await leaseLog.recent(NOW, HOUR)).toEqual([lease(NOW)])
    await leaseLog.close()
  })

  /** Writes entries of twenty hours; the last is at `NOW`. */
  async function twentyHours(home: string) {
    const entries = Array.from({ length: 20 }, (_, index) => request(NOW - (19 - index) * HOUR, { usage: USAGE }))
    const leaseLog = await leaseLogIn(home)
    // Equal entries are different requests.
    for (const entry of entries) for (const twice of [entry, entry]) await leaseLog.append(twice)
    await leaseLog.close()
    return entries.flatMap(entry => [entry, entry])
  }

  it('joins the files of hours that are over, and returns the same entries', async () => {
    const home = await temporaryHome()
    const entries = await twentyHours(home)
    const leaseLog = await leaseLogIn(home)
    await leaseLog.merge(NOW)
    // The files of the last four hours may still be written.
    expect(await readdir(folderOf(home))).toHaveLength(5)
    expect(await leaseLog.recent(NOW, DAY)).toEqual(entries)
    expect(await leaseLog.recent(NOW, 10 * HOUR)).toEqual(entries.slice(-22))
    await leaseLog.merge(NOW + 5 * HOUR)
    expect(await readdir(folderOf(home))).toHaveLength(5)
  })

  it('is joined by two processes at once without a lost or duplicated entry, also while it is read and written', async () => {
    for (let round = 0; round < 2; round++) {
      const home = await temporaryHome()
      const entries = await twentyHours(home)
      const [left, right, other] = await Promise.all(['left', 'right', 'other'].map(run => leaseLogIn(home, run)))
      const fresh = request(NOW + HOUR, { usage: USAGE })
      const read = async () => {
        for (let times = 0; times < 10; times++)
          expect((await other!.recent(NOW + HOUR, 2 * DAY)).slice(0, entries.length)).toEqual(entries)
      }
      await Promise.all([left!.merge(NOW + DAY), right!.merge(NOW + DAY), other!.append(fresh), read()])
      expect(await left!.recent(NOW + HOUR, 2 * DAY)).toEqual([...entries, fresh])
      await right!.merge(NOW + DAY)
      expect(await right!.recent(NOW + HOUR, 2 * DAY)).toEqual([...entries, fresh])
      await other!.close()
    }
  })

  it('that was joined and is damaged loses only the lines that cannot be read, and is joined again', async () => {
    const home = await temporaryHome()
    const entries = await twentyHours(home)
    const leaseLog = await leaseLogIn(home)
    await leaseLog.merge(NOW)
    const file = join(folderOf(home), (await readdir(folderOf(home))).find(name => name.endsWith('.gz'))!)
    const intact = await readFile(file)
    const live = entries.slice(-8)
    for (const damaged of [Buffer.alloc(0), Buffer.from('garbage'), intact.subarray(10)]) {
      await writeFile(file, damaged)
      expect(await leaseLog.recent(NOW, DAY)).toEqual(live)
    }
    await writeFile(file, intact.subarray(0, Math.floor(intact.length * 0.8)))
    const left = await leaseLog.recent(NOW, DAY)
    expect(left.length).toBeGreaterThan(live.length)
    expect(left.length).toBeLessThan(entries.length)
    expect(left.slice(-8)).toEqual(live)
    for (const hours of [1, 2, 3, 4]) await leaseLog.append(request(NOW + hours * HOUR, { usage: USAGE }))
    await leaseLog.merge(NOW + DAY)
    expect(await readdir(folderOf(home))).toHaveLength(1)
    expect((await leaseLog.recent(NOW + 4 * HOUR, 2 * DAY)).slice(0, left.length)).toEqual(left)
    await leaseLog.close()
  })

  it('keeps an entry whose writer was suspended while its file was joined', async () => {
    const home = await temporaryHome()
    const suspended = await leaseLogIn(home, 'suspended')
    await suspended.append(lease(NOW - 19 * HOUR, 'early'))
    const entries = await twentyHours(home)
    await (await leaseLogIn(home)).merge(NOW)
    await suspended.append(end(NOW - 19 * HOUR + 1))
    const found = await suspended.recent(NOW, DAY)
    expect(found).toHaveLength(entries.length + 2)
    expect(found).toContainEqual(end(NOW - 19 * HOUR + 1))
    await suspended.close()
  })

  it('sets aside only the entries of a joined file that are in the future', async () => {
    const home = await temporaryHome()
    const entries = await twentyHours(home)
    const leaseLog = await leaseLogIn(home)
    await leaseLog.merge(NOW + DAY)
    const nowMs = NOW - 10 * HOUR
    for (const _ of [1, 2]) expect(await leaseLog.recent(nowMs, DAY)).toEqual(entries.slice(0, 20))
    expect((await readdir(folderOf(home))).filter(name => name.endsWith('.set-aside'))).toHaveLength(1)
  })
})
