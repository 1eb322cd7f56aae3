// Checks a workspace's landing: whether the newest pages can be read, files left by killed processes, and the lease log.
import type { Stores } from '../../app/stores.ts'
import { STREAMS } from '../../catalog/resources/resources.ts'
import { HOUR } from '../../core/time.ts'
import { count, counted } from '../../core/words.ts'
import type { Landing } from '../../landing/landing.ts'
import { examine, type Finding, fail, ok, type Subject, warn } from './findings.ts'

/** Of each stream, since a sync ends with pages of resources. Only the newest are read: a crash or a full disk damages what was written last. */
const SAMPLE_PAGES = 20

async function pagesFinding(subject: Subject, landing: Landing): Promise<Finding> {
  const streams = await Promise.all(STREAMS.map(stream => landing.list(stream)))
  const pages = streams.flat()
  const newest = streams.flatMap(listed => listed.slice(-SAMPLE_PAGES))
  for (const { address } of newest) {
    try {
      await landing.body(address)
    } catch (error) {
      return fail(subject, error)
    }
  }
  if (pages.length === 0) return ok(subject, 'no page has landed yet')
  return ok(subject, `${counted(pages.length, 'page')}; the newest ${count(newest.length)} are readable`)
}

async function leftoverFindings(subject: Subject, landing: Landing): Promise<Finding[]> {
  const { files, hint } = await landing.leftovers()
  if (files === 0) return []
  return [
    warn(
      subject,
      `${counted(files, 'half-written file')} of a killed process`,
      `They only take space; a sync removes those in the folders that it reads. To remove all of them while no sync runs: ${hint}`,
    ),
  ]
}

export function landingChecks(stores: Stores, workspaceId: string): Promise<Finding[]> {
  const subject = { check: 'landing', workspaceId }
  const nowMs = Date.now()
  return examine(subject, async () => {
    const landing = stores.landing.workspace(workspaceId)
    const pages = await pagesFinding(subject, landing)
    const left = await leftoverFindings(subject, landing)
    const entries = await stores.leaseLog({ workspaceId, run: 'doctor' }).recent(nowMs, HOUR)
    const written = ok(
      { check: 'lease log', workspaceId },
      `readable; ${counted(entries.length, 'entry', 'entries')} in the last hour`,
    )
    return [pages, ...left, written]
  })
}
