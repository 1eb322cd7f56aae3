// Checks webhooks: missing or short secrets, refused requests, and events that cannot be applied. No secret is shown.
import type { Config, WorkspaceConfig } from '../../config.ts'
import { DAY, formatDuration } from '../../core/time.ts'
import { counted } from '../../core/words.ts'
import { readWorkspaceSecrets } from '../../receiver/workspace-secrets.ts'
import { readDrainFailure } from '../../spool/drain-failure.ts'
import { hasSpool } from '../../spool/folders.ts'
import { type Refused, readRefused } from '../../spool/refusal-record.ts'
import { hintOf, refusedText } from '../terminal/refusal-text.ts'
import { examine, type Finding, ok, type Subject, warn } from './findings.ts'

const CHECK = 'webhooks'

/** Only refusals of the last day are warnings; `status` also shows older ones. */
const RECENT_MS = DAY

function refusedFindings(subject: Subject, refused: readonly Refused[]): Finding[] {
  const nowMs = Date.now()
  return refused
    .filter(({ lastMs }) => nowMs - lastMs < RECENT_MS)
    .map(one => warn(subject, refusedText(one, nowMs), hintOf(one)))
}

async function drainFindings(subject: Subject, home: string, workspaceId: string): Promise<Finding[]> {
  const failure = await readDrainFailure(home, workspaceId)
  if (failure === null) return []
  const { what, hint, code, sinceMs } = failure
  const found = `events have not been applied for ${formatDuration(Date.now() - sinceMs)}: ${what} (${code})`
  return [warn(subject, found, hint ?? '`convohouse status` shows when it is retried.')]
}

/** @throws SECRET_MISSING, CONFIG_INVALID */
function secretFindings(subject: Subject, { home, workspace, source }: WebhooksOf): Finding[] {
  const [read] = readWorkspaceSecrets({ workspaces: [workspace], source })
  if (read) return [ok(subject, `${counted(read.secrets.length, 'secret')}, each set and long enough`)]
  if (!hasSpool(home, workspace.id)) return []
  const found = 'events were received, but no secret is configured now'
  return [
    warn(
      subject,
      found,
      'Configure one (`webhooks: { secrets: [{ env: NAME }] }`); otherwise receivers refuse the events of this workspace.',
    ),
  ]
}

interface WebhooksOf {
  home: string
  workspace: WorkspaceConfig
  /** Where the configuration came from. */
  source: string
}

/** The findings of one workspace; none without webhooks. */
export async function webhooksCheck(of: WebhooksOf): Promise<Finding[]> {
  const { home, workspace } = of
  const subject = { check: CHECK, workspaceId: workspace.id }
  const refused = (await readRefused(home)).filter(({ workspaceId }) => workspaceId === workspace.id)
  return [
    ...(await examine(subject, async () => secretFindings(subject, of))),
    ...(await drainFindings(subject, home, workspace.id)),
    ...refusedFindings(subject, refused),
  ]
}

/** Findings across workspaces: shared secrets, and refusals that cannot be attributed to a workspace. */
export async function commonWebhooksCheck(config: Pick<Config, 'home' | 'workspaces' | 'source'>): Promise<Finding[]> {
  const subject = { check: CHECK }
  const unknown = (await readRefused(config.home)).filter(({ workspaceId }) => workspaceId === null)
  const readable = config.workspaces.filter(workspace => {
    try {
      return readWorkspaceSecrets({ ...config, workspaces: [workspace] }).length > 0
    } catch {
      // The workspace's own check reports this error.
      return false
    }
  })
  const shared = await examine(subject, async () => {
    readWorkspaceSecrets({ ...config, workspaces: readable })
    return []
  })
  return [...shared, ...refusedFindings(subject, unknown)]
}
