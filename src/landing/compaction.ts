// Compaction moves small pages of a folder into bundles below it, each page with its address and its bytes. A page is
// removed only once a durable bundle contains it. So a kill leaves a page at most twice, and the next compaction
// removes its file. Names stay taken: a lander looks for its name in the bundles after its `link`.
//
//   <folder>/20261120T….g01.p000001.json.gz pages
//   <folder>/bundles/<random>.json.gz bundles
import { readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { needsCoercion } from '../catalog/inspection/inspect.ts'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { compactTimestamp, HOUR } from '../core/time.ts'
import { namesIn, removeFiles, sweepTemporary } from '../files/durable.ts'
import {
  type BundleEntry,
  bundlesIn,
  pageIn,
  readIndex,
  readMember,
  type StoredPage,
  verifyBundle,
  writeBundle,
} from './bundle.ts'
import { consistently, type ListFiles } from './consistent-reads.ts'
import { firstLine, headIn, intactMembers, memberBytes } from './page.ts'
import { folderOf, parsePageName } from './page-address.ts'

/** Larger pages stay separate files. */
const SMALL_PAGE_BYTES = 64 * 1024
/** A longer body would raise the limit for one JSON value, which determines the size of DuckDB's buffers. */
const MOST_BODY_BYTES = 8 * 1024 * 1024
/** Limit of heads and bodies in bytes. DuckDB reads all of a bundle even for one page. */
const MOST_BUNDLE_BYTES = 4 * 1024 * 1024
/** A smaller bundle is joined with later pages. */
const SMALL_BUNDLE_BYTES = MOST_BUNDLE_BYTES / 2
/** Windows that were opened later may still be read. Their pages are left alone, so that they move once, and together. */
const QUIET_MS = HOUR

export interface Bundles {
  /** Returns the bundle that contains the page; null if there is none. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  locate(address: string): Promise<string | null>
  /** Returns the page; null if no bundle contains it. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  read(address: string): Promise<StoredPage | null>
  /** Verifies the page's bundle unless it is in `verified`, and adds it; false without a bundle. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  verify(address: string, verified: Set<string>): Promise<boolean>
  /** Returns the addresses of the pages in bundles of these folders. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  addresses(folders: readonly string[]): Promise<string[]>
  /** Moves the small pages of a folder into bundles. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  compact(folder: string, nowMs: number): Promise<void>
  /** Removes these pages from their bundles, durably. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  erase(addresses: readonly string[]): Promise<void>
}

/** Number of indexes and members kept in memory, since a replay reads the pages of many agents in the order of their times. */
const MOST_KEPT = 512

/** Caches the results of `read` for the most recently used keys. */
function keepLast<T>(read: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const kept = new Map<string, Promise<T>>()
  return key => {
    const found = kept.get(key) ?? read(key)
    kept.delete(key)
    kept.set(key, found)
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!)
    return found.catch(error => {
      kept.delete(key)
      throw error
    })
  }
}

export function openBundles(root: string): Bundles {
  // A bundle never changes, so its parts are read once.
  const indexOf = keepLast(readIndex)
  const memberOf = keepLast((key: string) => {
    const [file, fromEnd, bytes] = JSON.parse(key) as [string, number, number]
    return readMember(file, { fromEnd, bytes })
  })
  const pageOf = async (file: string, name: string, entry: BundleEntry): Promise<StoredPage> =>
    pageIn(name, await memberOf(JSON.stringify([file, entry.member.fromEnd, entry.member.bytes])), entry)

  const listBundles: ListFiles = folder => bundlesIn(root, folder)

  async function inBundles(address: string, list: ListFiles) {
    for (const file of await list(folderOf(address))) {
      const entry = (await indexOf(file)).get(basename(address))
      if (entry) return { file, entry }
    }
    return null
  }

  /** Moves these pages into bundles, and joins small bundles. Holds the pages of one bundle in memory. */
  async function joinPages(folder: string, names: readonly string[], bundles: readonly string[]): Promise<void> {
    const there = new Map<string, { file: string; entry: BundleEntry }>()
    const small: string[] = []
    const isSmall = async (file: string) => {
      const entries = [...(await indexOf(file)).values()]
      return entries.reduce((sum, { headBytes, bodyBytes }) => sum + headBytes + bodyBytes, 0) < SMALL_BUNDLE_BYTES
    }
    for (const file of bundles) if (await isSmall(file)) small.push(file)
    // A killed compaction has left a page in two bundles: a page of a large one is not joined.
    for (const file of [...bundles.filter(file => !small.includes(file)), ...small])
      for (const [name, entry] of await indexOf(file)) if (!there.has(name)) there.set(name, { file, entry })
    const joined = [...there].filter(([, { file }]) => small.includes(file)).map(([name]) => name)
    let group: StoredPage[] = []
    let moved: string[] = []
    let added = 0
    const flush = async () => {
      if (group.length > 0) await writeBundle(root, folder, group)
      await removeFiles(moved.map(name => join(root, folder, name)))
      ;[group, moved] = [[], []]
    }
    const files = new Set(names)
    for (const name of [...new Set([...names, ...joined])].sort()) {
      const bundled = there.get(name)
      const page = bundled && (await pageOf(bundled.file, name, bundled.entry))
      const landed = files.has(name) ? storedPage(name, await readFile(join(root, folder, name))) : null
      // A killed compaction has left the file of a bundled page. A file with another answer stays.
      if (page && landed && isSamePage(page, landed)) await removeFiles([join(root, folder, name)])
      if (page && small.includes(bundled.file)) group.push(page)
      else if (!page && landed) {
        group.push(landed)
        moved.push(name)
        added += 1
      }
      if (bytesOf(group) >= MOST_BUNDLE_BYTES) await flush()
    }
    // A single page stays a file, and a single small bundle stays unchanged.
    if (added + small.length <= 1) return
    await flush()
    await removeFiles(small)
  }

  return {
    locate: address => consistently(address, listBundles, async list => (await inBundles(address, list))?.file ?? null),
    read: address =>
      consistently(address, listBundles, async list => {
        const found = await inBundles(address, list)
        return found && pageOf(found.file, basename(address), found.entry)
      }),
    verify: (address, verified) =>
      consistently(address, listBundles, async list => {
        const found = await inBundles(address, list)
        if (found && !verified.has(found.file)) await verifyBundle(found.file)
        if (found) verified.add(found.file)
        return found !== null
      }),
    addresses: folders =>
      consistently(root, listBundles, async list => {
        const all: string[] = []
        for (const folder of folders)
          for (const file of await list(folder))
            for (const name of (await indexOf(file)).keys()) all.push(`${folder}/${name}`)
        return all
      }),
    async compact(folder, nowMs) {
      await sweepTemporary(join(root, folder, 'bundles'))
      try {
        const bundles = await listBundles(folder)
        const pages = await smallPages(root, folder, nowMs)
        if (pages.length > 0 || bundles.length > 1) await joinPages(folder, pages, bundles)
      } catch (cause) {
        // Another process compacts the same folder, and has removed a file before it was read.
        if (!hasCode(cause, 'ENOENT')) throw cause instanceof ConvohouseError ? cause : homeUnusable(folder, cause)
      }
    },
    async erase(addresses) {
      for (const folder of new Set(addresses.map(folderOf))) {
        const names = new Set(
          addresses.filter(address => folderOf(address) === folder).map(address => basename(address)),
        )
        await consistently(folder, listBundles, async list => {
          for (const file of await list(folder)) {
            const entries = [...(await indexOf(file))]
            if (!entries.some(([name]) => names.has(name))) continue
            const kept: StoredPage[] = []
            for (const [name, entry] of entries) if (!names.has(name)) kept.push(await pageOf(file, name, entry))
            if (kept.length > 0) await writeBundle(root, folder, kept)
            await removeFiles([file])
          }
        })
      }
    },
  }
}

/** Returns the names of the pages of a folder that are small enough for a bundle, and whose windows are not recent. */
async function smallPages(root: string, folder: string, nowMs: number): Promise<string[]> {
  const before = compactTimestamp(nowMs - QUIET_MS)
  const small: string[] = []
  for (const name of await namesIn(join(root, folder))) {
    const parsed = parsePageName(name)
    if (parsed === null || parsed.window >= before) continue
    const found = await stat(join(root, folder, name)).catch(() => null)
    if (found?.isFile() && found.size <= SMALL_PAGE_BYTES) small.push(name)
  }
  return small.sort()
}

export const isSamePage = (a: Omit<StoredPage, 'name'>, b: Omit<StoredPage, 'name'>): boolean =>
  a.head.equals(b.head) && a.body.equals(b.body)

const bytesOf = (pages: readonly StoredPage[]): number =>
  pages.reduce((sum, { head, body }) => sum + head.length + body.length, 0)

/**
 * Returns the page in a file; null if it is damaged, or if its body is no JSON or takes the tolerant path: DuckDB might
 * fail to read the bundle's other pages.
 */
function storedPage(name: string, raw: Buffer): StoredPage | null {
  const line = firstLine(raw)
  const head = line === undefined ? null : headIn(line)
  if (!head?.packed || head.bodyBytes > MOST_BODY_BYTES) return null
  if (head.place.stream === 'conversations' && (head.status !== 200 || needsCoercion(head.notes))) return null
  try {
    const members = intactMembers(raw, head.packed)
    return { name, head: members.head, body: memberBytes(members.body) }
  } catch {
    return null
  }
}
