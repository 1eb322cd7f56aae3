// A bundle: a file that holds small pages of one folder, each with the bytes that landed. It is a sequence of gzip members, of which DuckDB
// reads the JSON values and this file single members:
//
//   {"_bundle":[[name, headFromEnd, headBytes, bodyFromEnd, bodyBytes], …]}        the index; positions count from the file's end
//   {"_head":…}   {"_page":"<address>","_body":   <the body's member as it landed>   }        for each page
import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { crc32, gunzipSync, gzipSync } from 'node:zlib'
import { makeFolder, writeOnce } from '../files/durable.ts'
import { bodyIn, corrupt, headIn, lineIn, type PageHead, readFirstLine } from './page.ts'

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

const END = gzipSync('}\n')

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
 * Verifies what DuckDB reads of a page, since DuckDB verifies no checksums: the body's bytes, and the address before them, with which its
 * records could otherwise be attributed to another page. @throws LANDING_CORRUPT; the system's ENOENT where the bundle does not exist
 */
export async function verifyBundledPage(
  file: string,
  { address, packed }: { address: string; packed: PageHead['packed'] },
  { head, body }: BundleEntry,
): Promise<void> {
  const upToBody = { fromEnd: head.fromEnd, bytes: head.fromEnd - body.fromEnd }
  const [before, member] = await readMembers(file, [upToBody, body])
  try {
    if (packed && crc32(member!) !== packed.crc32) throw new Error('the checksum differs')
    if (
      !gunzipSync(before!)
        .toString()
        .endsWith(`\n${addressPart(address)}`)
    )
      throw new Error('the address differs')
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
