// The landing: every page that was fetched, raw, on local disk. Pages are never moved or rewritten.
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { isCode } from '../core/errors.ts'
import { makeFolder, unusable, writeOnce } from './durable.ts'
import { pagePath, parsePageName, STREAMS, type Stream, segment } from './names.ts'
import { encodePage, type PageHead, readBody, readHead } from './page.ts'

/** A landed file: its path below the root names it everywhere (ledger, `_loads`, errors). */
export interface LandedFile {
  path: string
  window: string
  generation: number
  sequence: number
}

export interface Landing {
  root: string
  /** Makes a page durable. @throws LANDING_TAKEN, HOME_UNUSABLE */
  land(head: PageHead, body: Uint8Array): Promise<string>
  /** Keeps the bytes of an answer that is not JSON, for whoever has to look into it; returns its path. */
  landFailed(options: { atMs: number; agentId: string; status: number; body: Uint8Array }): Promise<string>
  /** Every landed page of the workspace (of one stream), in the order in which it may be loaded. @throws HOME_UNUSABLE */
  list(stream?: Stream): Promise<LandedFile[]>
  head(path: string): Promise<PageHead>
  body(path: string): Promise<Buffer>
}

async function filesBelow(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    // Of any other fault the list would be short, and pages would be bought again.
    if (cause.code === 'ENOENT') return []
    throw unusable(join(root, folder), cause)
  })
  const found = await Promise.all(
    entries.map(entry => {
      const path = posix.join(folder, entry.name)
      return entry.isDirectory() ? filesBelow(root, path) : [path]
    }),
  )
  return found.flat()
}

const byAge = (a: LandedFile, b: LandedFile): number =>
  a.window === b.window
    ? a.generation - b.generation || a.sequence - b.sequence || compare(a.path, b.path)
    : compare(a.window, b.window)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Opens a workspace's landing below `<home>/landing`. Two workspaces never share a folder. */
export function openLanding(home: string, workspaceId: string): Landing {
  const root = join(home, 'landing')
  const known = new Set<string>()

  async function prepare(path: string): Promise<string> {
    const folder = dirname(join(root, path))
    if (!known.has(folder)) await makeFolder(folder)
    known.add(folder)
    return join(root, path)
  }

  return {
    root,
    async land(head, body) {
      const path = pagePath(workspaceId, head.place)
      await writeOnce(await prepare(path), await encodePage(head, body))
      return path
    },
    async landFailed({ atMs, agentId, status, body }) {
      const digest = createHash('sha256').update(body).digest('hex').slice(0, 12)
      const path = posix.join(segment(workspaceId), 'failed', `${atMs}-${segment(agentId)}-${status}-${digest}.bin`)
      await writeOnce(await prepare(path), [body]).catch(error => {
        // The same bytes at the same millisecond are the same answer.
        if (!isCode(error, 'LANDING_TAKEN')) throw error
      })
      return path
    },
    async list(only) {
      const streams = await Promise.all(
        (only ? [only] : STREAMS).map(stream => filesBelow(root, posix.join(segment(workspaceId), stream))),
      )
      return streams
        .flat()
        .flatMap(path => {
          const parsed = parsePageName(path.slice(path.lastIndexOf('/') + 1))
          return parsed ? [{ path, ...parsed }] : []
        })
        .sort(byAge)
    },
    head: path => readHead(join(root, path)),
    body: path => readBody(join(root, path)),
  }
}
