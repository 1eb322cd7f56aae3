import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ConvohouseError } from '../../src/core/errors.ts'
import type { LeaseGranted } from '../../src/core/governor/lease-entries.ts'
import { DAY, HOUR, MINUTE } from '../../src/core/time.ts'
import { openLeaseLog } from '../../src/landing/folder-lease-log.ts'
import type { LeaseLog } from '../../src/landing/lease-log.ts'
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
  it('contains the entries of two concurrent runners', async () => {
    const home = await temporaryHome()
    const [left, right] = [await leaseLogIn(home, 'run-a'), await leaseLogIn(home, 'run-b')]
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 ? left : right).append(lease(NOW + index, `${index}`))),
    )
    expect(await right.recent(NOW + MINUTE, HOUR)).toHaveLength(40)
    expect(await readdir(folderOf(home))).toHaveLength(2)
    await Promise.all([left.close(), right.close()])
  })

  it('keeps the order of entries that are appended without waiting', async () => {
    const home = await temporaryHome()
    const leaseLog = await leaseLogIn(home)
    await Promise.all(Array.from({ length: 200 }, (_, index) => leaseLog.append(lease(NOW, `${index}`))))
    const lines = (await readFile(await onlyFile(home), 'utf8')).trimEnd().split('\n')
    expect(lines.map(line => (JSON.parse(line) as LeaseGranted).lease)).toEqual(lines.map((_, index) => `${index}`))
    await leaseLog.close()
  })

  it('has an entry on disk when its append resolves', async () => {
    const home = await temporaryHome()
    const leaseLog = await leaseLogIn(home)
    await leaseLog.append(lease(NOW))
    expect(await readFile(await onlyFile(home), 'utf8')).toBe(`${JSON.stringify(lease(NOW))}\n`)
    await leaseLog.close()
  })

  it('skips a last line that a kill truncated', async () => {
    const home = await temporaryHome()
    const leaseLog = await leaseLogIn(home)
    await leaseLog.append(lease(NOW))
    await leaseLog.close()
    await appendFile(await onlyFile(home), JSON.stringify(request(NOW)).slice(0, 40))
    expect(await leaseLog.recent(NOW, HOUR)).toEqual([lease(NOW)])
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
    expect(await leaseLog.recent(NOW + MINUTE, HOUR)).toEqual([fresh])
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
    // A folder takes the place of the oldest file: a search that read that far would fail.
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

  it('can be read by its owner only', async () => {
    const home = await temporaryHome()
    const leaseLog = await leaseLogIn(home)
    await leaseLog.append(lease(NOW))
    expect((await stat(await onlyFile(home))).mode & 0o777).toBe(0o600)
    expect((await stat(folderOf(home))).mode & 0o777).toBe(0o700)
    await leaseLog.close()
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
})
