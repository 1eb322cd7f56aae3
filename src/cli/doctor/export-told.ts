// Whether the export serves this workspace. Asking would be metered, so only what the leases ledger has of the last answers
// is told.
import type { WorkspaceConfig } from '../../config.ts'
import type { RequestMade } from '../../core/lease-entries.ts'
import { DAY } from '../../core/time.ts'
import { openLeaseLog } from '../../landing/folder-lease-log.ts'
import { quotaStatus } from '../../reports/quota.ts'
import { ago, count, counted } from '../terminal/words.ts'
import { examine, type Finding, ok, skip, warn } from './findings.ts'

/** Refusals are remembered so long; the last answer that told a usage, however old it is. */
const REMEMBERED_MS = 7 * DAY

async function lastAnswer(home: string, workspaceId: string, nowMs: number): Promise<RequestMade | undefined> {
  const ledger = openLeaseLog({ home, workspaceId, run: 'doctor' })
  const entries = await ledger.recent(nowMs, REMEMBERED_MS).finally(() => ledger.close())
  const answered = (entry: (typeof entries)[number]): entry is RequestMade =>
    entry.kind === 'request' && entry.status !== null && entry.status < 500
  return entries.filter(answered).at(-1)
}

const REFUSED = new Set([401, 402, 403])

export function exportCheck(home: string, workspace: WorkspaceConfig): Promise<Finding[]> {
  const subject = { check: 'export', workspaceId: workspace.id }
  const nowMs = Date.now()
  return examine(subject, async () => {
    const last = await lastAnswer(home, workspace.id, nowMs)
    if (!last)
      return [skip(subject, 'not asked: each request is metered. Whether the workspace has paid, the first sync tells')]
    const when = ago(last.sentAtMs, nowMs)
    if (REFUSED.has(last.status!)) {
      const hint =
        'The export needs a workspace that has paid once: settle it with the vendor, then run `convohouse sync`.'
      return [warn(subject, `refused the last request (${last.status}), ${when}`, hint)]
    }
    const quota = await quotaStatus({ home, workspaceId: workspace.id, settings: workspace, nowMs })
    const answered = `answered ${when}, so the workspace had paid`
    if (quota === null) return [ok(subject, answered)]
    const left = `${count(quota.sessionsLeft)} of ${counted(quota.includedSessions, 'session')} left in the period`
    if (quota.sessionsLeft > 0) return [ok(subject, `${answered}; ${left}`)]
    return [
      warn(
        subject,
        `${answered}; ${left}`,
        'A sync waits for the next period, unless --allow-overage-packs allows more.',
      ),
    ]
  })
}
