// A landing and a lease log in memory. Both outlive the processes of a history; each process reaches them through `forProcess`.
import { ConvohouseError } from '../../src/core/errors.ts'
import { type LeaseEntry, momentOf } from '../../src/core/governor/lease-entries.ts'
import type { LandedPage, Landing } from '../../src/landing/landing.ts'
import type { LeaseLog } from '../../src/landing/lease-log.ts'
import type { PageHead } from '../../src/landing/page.ts'
import { pageAddress } from '../../src/landing/page-address.ts'
import { NOBODY } from '../../src/landing/tombstones.ts'

export interface StoredPage extends LandedPage {
  head: PageHead
  body: Buffer
}

/** State that outlives every process. */
export interface MemoryStore {
  workspaceId: string
  pages: Map<string, StoredPage>
  leases: LeaseEntry[]
  fullsDroppedMs: number | null
}

export const newMemoryStore = (workspaceId: string): MemoryStore => ({
  workspaceId,
  pages: new Map(),
  leases: [],
  fullsDroppedMs: null,
})

/** Never resolves if the process dies there. */
type MayDie = () => Promise<void>

const unused = (): never => {
  throw new Error('no history needs this operation of the landing')
}

export function memoryLanding(store: MemoryStore, mayDie: MayDie): Landing {
  const { workspaceId, pages } = store
  const pageAt = (address: string): StoredPage => pages.get(address) ?? unused()
  return {
    async land(head, body) {
      await mayDie()
      const address = pageAddress(workspaceId, head.place)
      if (pages.has(address)) throw new ConvohouseError('LANDING_TAKEN', { what: `${address} has landed already.` })
      const { window, generation, sequence } = head.place
      pages.set(address, { address, window, generation, sequence, head, body: Buffer.from(body) })
      return address
    },
    landFailed: async ({ atMs }) => `failed-${atMs}`,
    list: async stream => {
      const listed = [...pages.values()].filter(({ head }) => stream === undefined || head.place.stream === stream)
      return listed.sort((a, b) => (a.address < b.address ? -1 : 1))
    },
    find: async place => {
      const page = pages.get(pageAddress(workspaceId, place))
      return page ? { address: page.address, head: page.head } : null
    },
    head: async address => pageAt(address).head,
    body: async address => pageAt(address).body,
    noteRun: async ({ fullsDroppedMs }) => {
      store.fullsDroppedMs = fullsDroppedMs ?? store.fullsDroppedMs
    },
    fullsDroppedMs: async () => store.fullsDroppedMs,
    runs: async () => [],
    folders: unused,
    listFolders: unused,
    files: unused,
    verifyChecksums: unused,
    erase: unused,
    expire: unused,
    expired: unused,
    sweep: unused,
    compact: unused,
    lastUpkeepMs: unused,
    noteUpkeep: unused,
    leftovers: unused,
    storedBytes: unused,
    rewrite: unused,
    eraseFailed: unused,
    rememberBegun: unused,
    forgotten: async () => NOBODY,
  }
}

const reportsUsage = (entry: LeaseEntry): boolean => entry.kind === 'request' && entry.usage !== null

/** Number of the newest usages that are kept regardless of age, as in the folder's log. */
const USAGES_KEPT = 12

/** Entries further ahead of the clock than this are set aside, as the folder's log does. */
const FAR_AHEAD_MS = 60 * 60_000

export function memoryLeaseLog(store: MemoryStore, mayDie: MayDie): LeaseLog {
  return {
    async append(entry) {
      await mayDie()
      store.leases.push(JSON.parse(JSON.stringify(entry)) as LeaseEntry)
    },
    async recent(nowMs, hourMs) {
      const known = store.leases.filter(entry => momentOf(entry) <= nowMs + FAR_AHEAD_MS)
      const isRecent = (entry: LeaseEntry) => momentOf(entry) > nowMs - hourMs
      const recent = known.filter(isRecent).sort((a, b) => momentOf(a) - momentOf(b))
      const usages = known.filter(reportsUsage).sort((a, b) => momentOf(a) - momentOf(b))
      return [...usages.slice(-USAGES_KEPT).filter(entry => !isRecent(entry)), ...recent]
    },
    merge: async () => {},
    close: async () => {},
  }
}
