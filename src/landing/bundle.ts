// A bundle: a file that contains small pages of one folder. It is a sequence of gzip members. DuckDB reads their JSON values, and this
// file reads single members. Pages share members, because the heads and bodies of polls without results are nearly equal:
//
//   {"_bundle":[[name, memberFromEnd, memberBytes, headAt, headBytes, bodyAt, bodyBytes], …]} the index; members count from the file's end
//   {"_head":…} {"_page":"<address>","_body":<the body as the vendor sent it>} for each page
import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { gzipSync } from 'node:zlib'
import { makeFolder, namesIn, writeOnce } from '../files/durable.ts'
import { corrupt, memberBytes, readFirstLine } from './page.ts'

/** Position of a member in a bundle. */
interface Member {
  fromEnd: number
  bytes: number
}

/** Position of a page in a bundle: its member, and its head and its body in that member. */
export interface BundleEntry {
  member: Member
  headAt: number
  headBytes: number
  bodyAt: number
  bodyBytes: number
}

/** A page as it landed: the line of its head, and its body. */
export interface StoredPage {
  name: string
  head: Buffer
  body: Buffer
}

type IndexLine = [name: string, memberFromEnd: number, memberBytes: number, ...places: [number, number, number, number]]

/** Minimum size of a member, about forty polls. */
const MEMBER_BYTES = 64 * 1024

/**
 * Writes pages of one folder into a new bundle, durably. `folder` is the part of their addresses before the last slash;
 * the bundle is written to `bundles` below it. @throws HOME_UNUSABLE
 */
export async function writeBundle(root: string, folder: string, pages: readonly StoredPage[]): Promise<void> {
  const members: { packed: Buffer; lines: [string, number, number, number, number][] }[] = []
  let parts: Buffer[] = []
  let lines: (typeof members)[number]['lines'] = []
  let length = 0
  const add = (part: Buffer): number => {
    parts.push(part)
    length += part.length
    return length - part.length
  }
  for (const { name, head, body } of pages) {
    const headAt = add(head)
    add(Buffer.from(`{"_page":${JSON.stringify(posix.join(folder, name))},"_body":`))
    lines.push([name, headAt, head.length, add(body), body.length])
    add(Buffer.from('}\n'))
    if (length < MEMBER_BYTES && name !== pages.at(-1)!.name) continue
    members.push({ packed: gzipSync(Buffer.concat(parts)), lines })
    ;[parts, lines, length] = [[], [], 0]
  }
  let fromEnd = members.reduce((sum, { packed }) => sum + packed.length, 0)
  const index = members.flatMap(({ packed, lines }) => {
    const own = lines.map(([name, ...places]): IndexLine => [name, fromEnd, packed.length, ...places])
    fromEnd -= packed.length
    return own
  })
  const file = join(root, folder, 'bundles', `${randomBytes(8).toString('hex')}.json.gz`)
  await makeFolder(dirname(file))
  await writeOnce(file, [gzipSync(`${JSON.stringify({ _bundle: index })}\n`), ...members.map(({ packed }) => packed)])
}

/** Returns the files of a folder's bundles, sorted. @throws HOME_UNUSABLE */
export const bundlesIn = async (root: string, folder: string): Promise<string[]> =>
  (await namesIn(join(root, folder, 'bundles')))
    .filter(name => name.endsWith('.json.gz') && !name.startsWith('.'))
    .sort()
    .map(name => join(root, folder, 'bundles', name))

/** Returns the pages of a bundle by name. @throws LANDING_CORRUPT; the system's ENOENT if the bundle does not exist */
export async function readIndex(file: string): Promise<Map<string, BundleEntry>> {
  const line = await readFirstLine(file)
  try {
    const { _bundle: lines } = JSON.parse(line!) as { _bundle: IndexLine[] }
    return new Map(
      lines.map(([name, fromEnd, bytes, headAt, headBytes, bodyAt, bodyBytes]) => [
        name,
        { member: { fromEnd, bytes }, headAt, headBytes, bodyAt, bodyBytes },
      ]),
    )
  } catch (cause) {
    throw corrupt(file, cause)
  }
}

/** Returns the content of a member. @throws LANDING_CORRUPT; the system's ENOENT if the bundle does not exist */
export async function readMember(file: string, { fromEnd, bytes }: Member): Promise<Buffer> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(bytes), 0, bytes, Math.max(0, size - fromEnd))
    return memberBytes(buffer.subarray(0, bytesRead))
  } catch (cause) {
    throw corrupt(file, cause)
  } finally {
    await handle.close()
  }
}

/** Returns the page at a place in the content of its member. */
export const pageIn = (name: string, member: Buffer, entry: BundleEntry): StoredPage => ({
  name,
  head: member.subarray(entry.headAt, entry.headAt + entry.headBytes),
  body: member.subarray(entry.bodyAt, entry.bodyAt + entry.bodyBytes),
})

/** Verifies a whole bundle, because DuckDB reads all of it even for one page. @throws LANDING_CORRUPT; the system's ENOENT */
export async function verifyBundle(file: string): Promise<void> {
  const index = await readIndex(file)
  const content = await readFile(file)
  const sizes = new Map([...index.values()].map(({ member }) => [member.fromEnd, member.bytes]))
  try {
    let end = content.length - Math.max(...sizes.keys())
    memberBytes(content.subarray(0, end))
    for (const [fromEnd, bytes] of sizes) {
      if (content.length - fromEnd !== end) throw new Error('the members are not where the index has them')
      end += bytes
      memberBytes(content.subarray(end - bytes, end))
    }
  } catch (cause) {
    throw corrupt(file, cause)
  }
}
