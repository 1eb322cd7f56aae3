// Compaction: small pages of a folder move into bundles below it, each page with its address and its bytes. A page is removed only when a
// durable bundle holds it, so a kill leaves pages twice at most, and the next compaction removes their files. Names stay taken: a lander
// looks for its name in the bundles after its `link`.
//
//   <folder>/20261120T….g01.p000001.json.gz      pages
//   <folder>/bundles/<random>.json.gz            bundles
import { readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { needsCoercion } from '../catalog/inspection/inspect.ts'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { compactTimestamp, HOUR } from '../core/time.ts'
import { namesIn, removeFiles, sweepTemporary } from '../files/durable.ts'
import { type BundleEntry, type RawPage, readBundledPage, readIndex, writeBundle } from './bundle.ts'
import { consistently, type ListFiles } from './consistent-reads.ts'
import { firstLine, headIn, intactMembers } from './page.ts'
import { folderOf, parsePageName } from './page-address.ts'

/** A larger page is worth a file of its own. */
const SMALL_PAGE_BYTES = 64 * 1024
/** A longer body would raise the limit of one JSON value, with which DuckDB sizes its buffers. */
const MOST_BODY_BYTES = 8 * 1024 * 1024
/** DuckDB reads a bundle as a whole, also for one of its pages. */
const MOST_BUNDLE_BYTES = 1024 * 1024
/** A smaller bundle is joined with later pages. */
const SMALL_BUNDLE_BYTES = MOST_BUNDLE_BYTES / 2
/** Windows that were opened later may still be read: their pages are left alone, so that they move once, and together. */
const QUIET_MS = HOUR

export interface Bundles {
  /** Where the page lies; null where no bundle holds it. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  locate(address: string): Promise<{ file: string; entry: BundleEntry } | null>
  /** Like `locate`, then reads the page; repeats both if the bundle has been replaced meanwhile. */
  read<T>(address: string, read: (file: string, entry: BundleEntry) => Promise<T>): Promise<T | null>
  /** Addresses of the pages in bundles of these folders. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  addresses(folders: readonly string[]): Promise<string[]>
  /** Moves the small pages of a folder into bundles. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  compact(folder: string, nowMs: number): Promise<void>
  /** Removes these pages from their bundles, durably. @throws HOME_UNUSABLE, LANDING_CORRUPT */
  erase(addresses: readonly string[]): Promise<void>
}

/** Indexes kept in memory: a replay reads the heads of a month agent by agent. */
const MOST_INDEXES = 512

export function openBundles(root: string): Bundles {
  const indexes = new Map<string, Promise<Map<string, BundleEntry>>>()

  /** A bundle never changes, so its index is read once. */
  function indexOf(file: string): Promise<Map<string, BundleEntry>> {
    const known = indexes.get(file) ?? readIndex(file)
    indexes.delete(file)
    indexes.set(file, known)
    if (indexes.size > MOST_INDEXES) indexes.delete(indexes.keys().next().value!)
    return known.catch(error => {
      indexes.delete(file)
      throw error
    })
  }

  const bundlesIn: ListFiles = async folder =>
    (await namesIn(join(root, folder, 'bundles')))
      .filter(name => name.endsWith('.json.gz') && !name.startsWith('.'))
      .sort()
      .map(name => join(root, folder, 'bundles', name))

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
    const isSmall = async (file: string) => (await stat(file)).size < SMALL_BUNDLE_BYTES
    for (const file of bundles) if (await isSmall(file)) small.push(file)
    // A killed compaction has left a page in two bundles: a page of a large one is not joined.
    for (const file of [...bundles.filter(file => !small.includes(file)), ...small])
      for (const [name, entry] of await indexOf(file)) if (!there.has(name)) there.set(name, { file, entry })
    const joined = [...there].filter(([, { file }]) => small.includes(file)).map(([name]) => name)
    let group: RawPage[] = []
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
      const page = bundled && (await readBundledPage(bundled.file, name, bundled.entry))
      const landed = files.has(name) ? splitPage(name, await readFile(join(root, folder, name))) : null
      // A killed compaction has left the file of a page that is in a bundle. A file with another answer stays.
      if (page && landed && isSamePage(page, landed)) await removeFiles([join(root, folder, name)])
      if (page && small.includes(bundled.file)) group.push(page)
      else if (!page && landed) {
        group.push(landed)
        moved.push(name)
        added += 1
      }
      if (bytesOf(group) >= MOST_BUNDLE_BYTES) await flush()
    }
    // A single page stays a file, and a single small bundle stays as it is.
    if (added + small.length <= 1) return
    await flush()
    await removeFiles(small)
  }

  return {
    locate: address => consistently(address, bundlesIn, list => inBundles(address, list)),
    read: (address, read) =>
      consistently(address, bundlesIn, async list => {
        const found = await inBundles(address, list)
        return found && read(found.file, found.entry)
      }),
    addresses: folders =>
      consistently(root, bundlesIn, async list => {
        const all: string[] = []
        for (const folder of folders)
          for (const file of await list(folder))
            for (const name of (await indexOf(file)).keys()) all.push(`${folder}/${name}`)
        return all
      }),
    async compact(folder, nowMs) {
      await sweepTemporary(join(root, folder, 'bundles'))
      try {
        const bundles = await bundlesIn(folder)
        const pages = await smallPages(root, folder, nowMs)
        if (pages.length > 0 || bundles.length > 1) await joinPages(folder, pages, bundles)
      } catch (cause) {
        // Another process compacts the same folder, and has removed a file that was to be read.
        if (!hasCode(cause, 'ENOENT')) throw cause instanceof ConvohouseError ? cause : homeUnusable(folder, cause)
      }
    },
    async erase(addresses) {
      for (const folder of new Set(addresses.map(folderOf))) {
        const names = new Set(
          addresses.filter(address => folderOf(address) === folder).map(address => basename(address)),
        )
        await consistently(folder, bundlesIn, async list => {
          for (const file of await list(folder)) {
            const entries = [...(await indexOf(file))]
            if (!entries.some(([name]) => names.has(name))) continue
            const kept: RawPage[] = []
            for (const [name, entry] of entries)
              if (!names.has(name)) kept.push(await readBundledPage(file, name, entry))
            if (kept.length > 0) await writeBundle(root, folder, kept)
            await removeFiles([file])
          }
        })
      }
    },
  }
}

/** Names of the pages of a folder that are small enough for a bundle, and whose windows are not recent. */
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

export const isSamePage = (a: Omit<RawPage, 'name'>, b: Omit<RawPage, 'name'>): boolean =>
  Buffer.compare(a.head, b.head) === 0 && Buffer.compare(a.body, b.body) === 0

const bytesOf = (pages: readonly RawPage[]): number =>
  pages.reduce((sum, { head, body }) => sum + head.length + body.length, 0)

/**
 * The members of a page's file; null where the page is damaged, or where its body could keep DuckDB from reading the other pages of a
 * bundle: it is no JSON, or takes the tolerant path.
 */
function splitPage(name: string, raw: Buffer): RawPage | null {
  const line = firstLine(raw)
  const head = line === undefined ? null : headIn(line)
  if (!head?.packed || head.bodyBytes > MOST_BODY_BYTES) return null
  let members: ReturnType<typeof intactMembers>
  try {
    members = intactMembers(raw, head.packed)
  } catch {
    return null
  }
  const isReadable = head.place.stream !== 'conversations' || (head.status === 200 && !needsCoercion(head.notes))
  return isReadable ? { name, ...members } : null
}
