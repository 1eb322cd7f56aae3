// A workspace's landing: whether the newest pages can be read, what kills left behind, and the leases ledger.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HOUR } from '../../core/time.ts'
import { count, counted } from '../../core/words.ts'
import { isTemporary, LEFT_BEHIND_MS } from '../../files/durable.ts'
import { pathSegment } from '../../files/path-segment.ts'
import { type LandedPage, type Landing, openLanding } from '../../landing/folder-landing.ts'
import { openLeaseLog } from '../../landing/folder-lease-log.ts'
import { examine, type Finding, fail, ok, type Subject, warn } from './findings.ts'

/** Of each stream: what a crash of the machine or a full disk may have hurt is what was written last. */
const SAMPLE_PAGES = 20

async function pagesFinding(subject: Subject, landing: Landing, pages: readonly LandedPage[]): Promise<Finding> {
  const newest = pages.slice(-SAMPLE_PAGES)
  for (const { address: path } of newest.toReversed()) {
    try {
      await landing.body(path)
    } catch (error) {
      return fail(subject, error)
    }
  }
  if (pages.length === 0) return ok(subject, 'no page has landed yet')
  return ok(subject, `${counted(pages.length, 'page')}; the newest ${count(newest.length)} were read to their end`)
}

/** Files that a killed process left half written, below a folder. */
async function leftBehind(folder: string, nowMs: number): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const temporary = entries.filter(entry => entry.isFile() && isTemporary(entry.name))
  const paths = temporary.map(entry => join(entry.parentPath, entry.name))
  const old = await Promise.all(
    paths.map(path =>
      stat(path).then(
        found => found.mtimeMs < nowMs - LEFT_BEHIND_MS,
        () => false,
      ),
    ),
  )
  return paths.filter((_, at) => old[at])
}

function leftFindings(subject: Subject, folder: string, left: readonly string[]): Finding[] {
  if (left.length === 0) return []
  const hint = `They take up room and nothing else; a sync removes those where it looks for new pages. All, when no sync runs: find ${folder} -name '.tmp-*' -delete`
  return [warn(subject, `${counted(left.length, 'half-written file')} of a process that was killed`, hint)]
}

export function landingChecks(home: string, workspaceId: string): Promise<Finding[]> {
  const subject = { check: 'landing', workspaceId }
  const nowMs = Date.now()
  return examine(subject, async () => {
    const landing = openLanding(home, workspaceId)
    const folder = join(landing.root, pathSegment(workspaceId))
    const pages = await pagesFinding(subject, landing, await landing.list())
    const left = leftFindings(subject, folder, await leftBehind(folder, nowMs))
    const ledger = openLeaseLog({ home, workspaceId, run: 'doctor' })
    const entries = await ledger.recent(nowMs, HOUR).finally(() => ledger.close())
    const written = ok(
      { check: 'ledger', workspaceId },
      `readable; ${counted(entries.length, 'entry', 'entries')} of the last hour`,
    )
    return [pages, ...left, written]
  })
}
