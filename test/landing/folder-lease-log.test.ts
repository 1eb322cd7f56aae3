import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ConvohouseError } from '../../src/core/errors.ts'
import type { LeaseGranted, RequestMade } from '../../src/core/lease-entries.ts'
import type { ReportedUsage } from '../../src/core/reported-usage.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/time.ts'
import { openLeaseLog } from '../../src/landing/folder-lease-log.ts'
import type { LeaseLog } from '../../src/landing/lease-log.ts'
import { temporaryHome } from './temporary-home.ts'

/** On the hour, so that minutes below name the file too. */
const NOW = Date.UTC(2026, 10, 20, 12)

const lease = (atMs: number, name = 'lease-1'): LeaseGranted => ({
  kind: 'lease',
  lease: name,
  window: 'w',
  agentId: 'agent-1',
  requests: 10,
  sessions: 1_000,
  pageSessions: 100,
  atMs,
  deadlineMs: atMs + 5 * MINUTE,
})

const USAGE: ReportedUsage = {
  periodKey: '2026-11',
  billableUsedThisRequest: 3,
  billableUsedThisPeriod: 120,
  includedQuota: 50_000,
  billableRemainingThisPeriod: 49_880,
  overageUsedThisPeriod: 0,
  overagePacksCharged: 0,
  exportRequestCount: 2,
}

const request = (sentAtMs: number, parts: Partial<RequestMade> = {}): RequestMade => ({
  kind: 'request',
  lease: 'lease-1',
  agentId: 'agent-1',
  sentAtMs,
  receivedAtMs: sentAtMs + 100,
  status: 200,
  error: null,
  returned: 100,
  billed: 3,
  usage: null,
  rateLimit: null,
  retryAfterMs: null,
  ...parts,
})

const end = (atMs: number) => ({ kind: 'end' as const, lease: 'lease-1', atMs })

async function ledgerIn(home: string, run = 'run-1'): Promise<LeaseLog> {
  return openLeaseLog({ home, workspaceId: 'ws', run })
}

const folderOf = (home: string): string => join(home, 'landing', 'ws', 'ledger')

async function onlyFile(home: string): Promise<string> {
  const [name, ...more] = await readdir(folderOf(home))
  expect(more).toEqual([])
  return join(folderOf(home), name!)
}

describe('the leases ledger', () => {
  it('gives back what was appended, in order of time', async () => {
    const ledger = await ledgerIn(await temporaryHome())
    const entries = [lease(NOW - 3 * SECOND), request(NOW - 2 * SECOND, { usage: USAGE }), end(NOW - SECOND)]
    for (const entry of entries.toReversed()) await ledger.append(entry)
    expect(await ledger.recent(NOW, HOUR)).toEqual(entries)
    await ledger.close()
  })

  it('is empty before anything was appended', async () => {
    expect(await (await ledgerIn(await temporaryHome())).recent(NOW, HOUR)).toEqual([])
  })

  it('gives back the last hour and nothing from before', async () => {
    const ledger = await ledgerIn(await temporaryHome())
    for (const age of [61 * MINUTE, 60 * MINUTE, 59 * MINUTE, 0]) await ledger.append(lease(NOW - age, `${age}`))
    const ages = (await ledger.recent(NOW, HOUR)).map(entry => (entry as LeaseGranted).atMs - NOW)
    expect(ages).toEqual([-60 * MINUTE, -59 * MINUTE, 0])
    await ledger.close()
  })

  it('finds the newest usage that was told, however old, and puts it first', async () => {
    const ledger = await ledgerIn(await temporaryHome())
    const old = request(NOW - 50 * HOUR, { usage: USAGE })
    await ledger.append(request(NOW - 51 * HOUR, { usage: { ...USAGE, billableUsedThisPeriod: 1 } }))
    await ledger.append(old)
    await ledger.append(request(NOW - 3 * HOUR))
    const fresh = request(NOW - MINUTE)
    await ledger.append(fresh)
    expect(await ledger.recent(NOW, HOUR)).toEqual([old, fresh])
    await ledger.close()
  })

  it('finds the newest usage of two runners of the same hour, whichever of them told it', async () => {
    for (const [first, second] of [
      ['run-a', 'run-b'],
      ['run-b', 'run-a'],
    ]) {
      const home = await temporaryHome()
      const [left, right] = [await ledgerIn(home, first), await ledgerIn(home, second)]
      const newest = request(NOW - 5 * HOUR + MINUTE, { usage: USAGE })
      await left.append(request(NOW - 5 * HOUR, { usage: { ...USAGE, billableUsedThisPeriod: 1 } }))
      await right.append(newest)
      expect(await left.recent(NOW, HOUR)).toEqual([newest])
      await Promise.all([left.close(), right.close()])
    }
  })

  it('holds what two runners appended at once', async () => {
    const home = await temporaryHome()
    const [left, right] = [await ledgerIn(home, 'run-a'), await ledgerIn(home, 'run-b')]
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 ? left : right).append(lease(NOW + index, `${index}`))),
    )
    expect(await right.recent(NOW + MINUTE, HOUR)).toHaveLength(40)
    expect(await readdir(folderOf(home))).toHaveLength(2)
    await Promise.all([left.close(), right.close()])
  })

  it('keeps the order of what was appended without waiting', async () => {
    const home = await temporaryHome()
    const ledger = await ledgerIn(home)
    await Promise.all(Array.from({ length: 200 }, (_, index) => ledger.append(lease(NOW, `${index}`))))
    const lines = (await readFile(await onlyFile(home), 'utf8')).trimEnd().split('\n')
    expect(lines.map(line => (JSON.parse(line) as LeaseGranted).lease)).toEqual(lines.map((_, index) => `${index}`))
    await ledger.close()
  })

  it('has an entry on disk when its append resolves', async () => {
    const home = await temporaryHome()
    const ledger = await ledgerIn(home)
    await ledger.append(lease(NOW))
    expect(await readFile(await onlyFile(home), 'utf8')).toBe(`${JSON.stringify(lease(NOW))}\n`)
    await ledger.close()
  })

  it('passes over a last line that a kill cut off', async () => {
    const home = await temporaryHome()
    const ledger = await ledgerIn(home)
    await ledger.append(lease(NOW))
    await ledger.close()
    await appendFile(await onlyFile(home), JSON.stringify(request(NOW)).slice(0, 40))
    expect(await ledger.recent(NOW, HOUR)).toEqual([lease(NOW)])
  })

  it('loses nothing that is appended behind a line that was cut off', async () => {
    const home = await temporaryHome()
    const killed = await ledgerIn(home)
    await killed.append(lease(NOW))
    await killed.close()
    await appendFile(await onlyFile(home), '{"kind":"requ')
    const resumed = await ledgerIn(home)
    await resumed.append(end(NOW))
    expect(await resumed.recent(NOW, HOUR)).toEqual([lease(NOW), end(NOW)])
    await resumed.close()
  })

  it('keeps an entry of the next hour that shared its sync with one of the last', async () => {
    const ledger = await ledgerIn(await temporaryHome())
    await Promise.all([ledger.append(lease(NOW)), ledger.append(end(NOW - 1)), ledger.append(lease(NOW + 50, 'l2'))])
    expect(await ledger.recent(NOW + HOUR + 20, HOUR)).toEqual([lease(NOW + 50, 'l2')])
    await ledger.close()
  })

  it('sets only those entries aside that lie ahead because the clock was set back', async () => {
    const home = await temporaryHome()
    const ahead = await ledgerIn(home, 'run-a')
    const own = request(NOW - HOUR, { usage: USAGE })
    await ahead.append(own)
    await ahead.append(request(NOW + 24 * HOUR, { usage: USAGE }))
    await ahead.close()
    const ledger = await ledgerIn(home, 'run-b')
    expect(await ledger.recent(NOW, HOUR)).toEqual([own])
    expect((await readdir(folderOf(home))).filter(name => name.endsWith('.set-aside'))).toHaveLength(1)
    const fresh = request(NOW, { usage: USAGE })
    await ledger.append(fresh)
    expect(await ledger.recent(NOW + MINUTE, HOUR)).toEqual([fresh])
    await ledger.close()
  })

  it('counts what another machine writes whose clock is minutes ahead, and leaves its file to it', async () => {
    const home = await temporaryHome()
    const [own, other] = [await ledgerIn(home, 'run-a'), await ledgerIn(home, 'run-b')]
    // One clock says 11:55, the other 12:01.
    const nowMs = NOW - 5 * MINUTE
    const entries = [lease(nowMs - SECOND, 'own'), lease(NOW + MINUTE, 'other')]
    await own.append(entries[0]!)
    await other.append(entries[1]!)
    expect(await own.recent(nowMs, HOUR)).toEqual(entries)
    const further = { ...end(NOW + 2 * MINUTE), lease: 'other' }
    await other.append(further)
    expect(await own.recent(nowMs, HOUR)).toEqual([...entries, further])
    await Promise.all([own.close(), other.close()])
  })

  it('looks no further back for a usage than a period may last, counted from its last entries', async () => {
    const home = await temporaryHome()
    const ledger = await ledgerIn(home)
    const old = request(NOW - 80 * DAY, { usage: USAGE })
    await ledger.append(old)
    await ledger.append(request(NOW - 60 * DAY))
    expect(await ledger.recent(NOW, HOUR)).toEqual([old])
    await ledger.append(request(NOW - 2 * HOUR))
    // Whoever reads it all the same cannot: it is a folder.
    const [first] = (await readdir(folderOf(home))).sort()
    await rm(join(folderOf(home), first!))
    await mkdir(join(folderOf(home), first!))
    expect(await ledger.recent(NOW, HOUR)).toEqual([])
    await ledger.close()
  })

  it('passes over lines that are no entries', async () => {
    const home = await temporaryHome()
    const ledger = await ledgerIn(home)
    await ledger.append(lease(NOW))
    await ledger.close()
    await appendFile(await onlyFile(home), 'null\n42\n[]\n{"kind":"request"}\n{"atMs":1}\n')
    expect(await ledger.recent(NOW, HOUR)).toEqual([lease(NOW)])
  })

  it('can be read by its owner alone', async () => {
    const home = await temporaryHome()
    const ledger = await ledgerIn(home)
    await ledger.append(lease(NOW))
    expect((await stat(await onlyFile(home))).mode & 0o777).toBe(0o600)
    expect((await stat(folderOf(home))).mode & 0o777).toBe(0o700)
    await ledger.close()
  })

  it('says so when it cannot be written, and goes on when it can again', async () => {
    const home = await temporaryHome()
    await mkdir(join(home, 'landing', 'ws'), { recursive: true })
    await writeFile(folderOf(home), 'a file where a folder should be')
    const ledger = await ledgerIn(home)
    const error = await ledger.append(lease(NOW)).catch((reason: ConvohouseError) => reason)
    expect(error).toMatchObject({ code: 'HOME_UNUSABLE' })
    await rm(folderOf(home))
    await ledger.append(lease(NOW))
    expect(await ledger.recent(NOW, HOUR)).toEqual([lease(NOW)])
    await ledger.close()
  })
})
