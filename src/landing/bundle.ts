// A bundle: a file that holds small pages of one folder, each with the bytes that landed. It is a sequence of gzip members, of which DuckDB
// reads the JSON values and this file single members:
//
//   {"_bundle":[[name, headFromEnd, headBytes, bodyFromEnd, bodyBytes], …]}        the index; positions count from the file's end
//   {"_head":…}   {"_page":"<address>","_body":   <the body's member as it landed>   }        for each page
import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { crc32, gzipSync } from 'node:zlib'
import { makeFolder, writeOnce } from '../files/durable.ts'
import { bodyIn, corrupt, headIn, lineIn, memberText, type PageHead, readFirstLine } from './page.ts'

/** Name, then position and length of the members of head and body. */
type IndexLine = [name: string, headFromEnd: number, headBytes: number, bodyFromEnd: number, bodyBytes: number]

/** Where a page lies in a bundle. */
export interface BundleEntry {
  head: { fromEnd: number; bytes: number }
  body: { fromEnd: number; bytes: number }
}

/** A page's gzip members as they landed. */
export interface RawPage {
  name: string
  head: Uint8Array
  body: Uint8Array
}

const entryOf = ([name, headFromEnd, headBytes, bodyFromEnd, bodyBytes]: IndexLine): [string, BundleEntry] => [
  name,
  { head: { fromEnd: headFromEnd, bytes: headBytes }, body: { fromEnd: bodyFromEnd, bytes: bodyBytes } },
]

/** What precedes a body: DuckDB attributes the body's records to this page. */
const addressPart = (address: string): string => `{"_page":${JSON.stringify(address)},"_body":`

/** What follows a body. */
const CLOSING = '}\n'
const END = gzipSync(CLOSING)

/**
 * Writes pages of one folder into a new bundle, durably. `folder` is the part of their addresses before the last slash; the bundle lies in
 * `bundles` below it. @throws HOME_UNUSABLE
 */
export async function writeBundle(root: string, folder: string, pages: readonly RawPage[]): Promise<void> {
  const parts: Uint8Array[] = []
  const begins: { page: RawPage; head: number; body: number }[] = []
  let length = 0
  const add = (part: Uint8Array): number => {
    parts.push(part)
    length += part.length
    return length - part.length
  }
  for (const page of pages) {
    const head = add(page.head)
    add(gzipSync(addressPart(posix.join(folder, page.name))))
    const body = add(page.body)
    add(END)
    begins.push({ page, head, body })
  }
  const index = begins.map(
    ({ page, head, body }): IndexLine => [page.name, length - head, page.head.length, length - body, page.body.length],
  )
  const file = join(root, folder, 'bundles', `${randomBytes(8).toString('hex')}.json.gz`)
  await makeFolder(dirname(file))
  await writeOnce(file, [gzipSync(`${JSON.stringify({ _bundle: index })}\n`), ...parts])
}

/** The pages of a bundle by name. @throws LANDING_CORRUPT; the system's ENOENT where the bundle does not exist */
export async function readIndex(file: string): Promise<Map<string, BundleEntry>> {
  const line = await readFirstLine(file)
  try {
    return new Map((JSON.parse(line!) as { _bundle: IndexLine[] })._bundle.map(entryOf))
  } catch (cause) {
    throw corrupt(file, cause)
  }
}

/** Reads members of a bundle. @throws LANDING_CORRUPT; the system's ENOENT where the bundle does not exist */
async function readMembers(file: string, members: readonly BundleEntry['head'][]): Promise<Buffer[]> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    const read: Buffer[] = []
    for (const { fromEnd, bytes } of members) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(bytes), 0, bytes, size - fromEnd)
      if (bytesRead !== bytes) throw corrupt(file)
      read.push(buffer)
    }
    return read
  } finally {
    await handle.close()
  }
}

/** @throws LANDING_CORRUPT; the system's ENOENT where the bundle does not exist */
export async function readBundledHead(file: string, entry: BundleEntry): Promise<PageHead> {
  const [head] = await readMembers(file, [entry.head])
  try {
    return headIn(lineIn(head!))
  } catch (cause) {
    throw corrupt(file, cause)
  }
}

/** The page's members as they landed. @throws LANDING_CORRUPT; the system's ENOENT where the bundle does not exist */
export async function readBundledPage(file: string, name: string, entry: BundleEntry): Promise<RawPage> {
  const [head, body] = await readMembers(file, [entry.head, entry.body])
  return { name, head: head!, body: body! }
}

/**
 * Verifies a whole bundle, which DuckDB reads to its end, also for one of its pages: all bodies, and the addresses before them, to which it attributes
 * the records. `folder`: of the addresses. @throws LANDING_CORRUPT; the system's ENOENT where the bundle does not exist
 */
export async function verifyBundle(file: string, folder: string): Promise<void> {
  const pages = [...(await readIndex(file))]
  const content = await readFile(file)
  /** What lies between two positions that count from the file's end. */
  const between = (from: number, to: number) => content.subarray(content.length - from, content.length - to)
  const expect = (found: unknown, written: unknown) => {
    if (found !== written) throw new Error('a member differs from what was written')
  }
  try {
    memberText(between(content.length, pages[0]![1].head.fromEnd))
    for (const [index, [name, { head, body }]] of pages.entries()) {
      const headEnd = head.fromEnd - head.bytes
      const bodyEnd = body.fromEnd - body.bytes
      const { packed } = headIn(memberText(between(head.fromEnd, headEnd)))
      expect(memberText(between(headEnd, body.fromEnd)), addressPart(posix.join(folder, name)))
      expect(crc32(between(body.fromEnd, bodyEnd)), packed?.crc32)
      expect(memberText(between(bodyEnd, pages[index + 1]?.[1].head.fromEnd ?? 0)), CLOSING)
    }
  } catch (cause) {
    throw corrupt(file, cause)
  }
}

/** Reads a body and verifies its checksum. @throws LANDING_CORRUPT; the system's ENOENT where the bundle does not exist */
export async function readBundledBody(file: string, entry: BundleEntry): Promise<Buffer> {
  const { head, body } = await readBundledPage(file, '', entry)
  try {
    return await bodyIn(body, headIn(lineIn(head)))
  } catch (cause) {
    throw corrupt(file, cause)
  }
}
