// The addresses in poll logs. Each page that lands is looked up in every log of its day, so a merged log is read once, and of a log that grows
// only what is new.
import { open, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { forgetOldest } from './forget-oldest.ts'
import { isMerged, linesIn, readAddresses } from './poll-lines.ts'

/** About 30 MB. */
const MOST_ADDRESSES = 200_000

/** The first lines of two logs differ within these bytes, which contain a checksum and most of an address. */
const BEGINNING_BYTES = 256

const LINE_FEED = 0x0a

interface Known {
  addresses: Set<string>
  /** The file's number and first bytes: after a merge, the next log has the same name, and may have the same number. */
  ino: bigint
  beginning: Buffer
  /** Bytes read, up to the end of a line. */
  read: number
  /** Modification time when it was read. */
  mtimeNs: bigint
  last: Promise<unknown>
}

const unread = () => ({ addresses: new Set<string>(), ino: -1n, beginning: Buffer.alloc(0), read: 0, mtimeNs: -1n })

async function readAhead(file: string, known: Known): Promise<void> {
  const found = await stat(file, { bigint: true })
  if (found.ino === known.ino && Number(found.size) === known.read && found.mtimeNs === known.mtimeNs) return
  const handle = await open(file, 'r')
  try {
    const { ino, size, mtimeNs } = await handle.stat({ bigint: true })
    const bytesOf = async (from: number, to: number): Promise<Buffer> => {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(to - from), 0, to - from, from)
      return buffer.subarray(0, bytesRead)
    }
    const beginning = await bytesOf(0, Math.min(BEGINNING_BYTES, Number(size)))
    const isSame =
      ino === known.ino && size >= known.read && beginning.subarray(0, known.beginning.length).equals(known.beginning)
    if (!isSame) Object.assign(known, unread())
    Object.assign(known, { ino, beginning, mtimeNs })
    if (Number(size) === known.read) return
    const added = await bytesOf(known.read, Number(size))
    for (const address of linesIn(added.toString()).keys()) known.addresses.add(address)
    known.read += added.lastIndexOf(LINE_FEED) + 1
  } finally {
    await handle.close()
  }
}

async function readMerged(file: string, known: Known): Promise<void> {
  if (known.read > 0) return
  known.addresses = new Set(await readAddresses(file))
  known.read = 1
}

/**
 * Returns a function that reads the addresses in a log. The set that it returns may grow later.
 * @throws LANDING_CORRUPT; the system's ENOENT where a log does not exist
 */
export function openPollAddresses(): (file: string) => Promise<ReadonlySet<string>> {
  const logs = new Map<string, Known>()

  return async file => {
    const known = logs.get(file) ?? { ...unread(), last: Promise.resolve() }
    logs.delete(file)
    logs.set(file, known)
    const read = isMerged(basename(file)) ? readMerged : readAhead
    const reading = known.last.then(() => read(file, known))
    known.last = reading.catch(() => {})
    await reading.catch(error => {
      logs.delete(file)
      throw error
    })
    forgetOldest(logs, MOST_ADDRESSES, ({ addresses }) => addresses.size)
    return known.addresses
  }
}
