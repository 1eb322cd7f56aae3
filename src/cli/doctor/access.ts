// Checks a workspace's access: token, API, clocks and export. Sends one request, for the list of agents, which is not metered. Export
// requests are metered, so the export check sends none and reports the last answer from the lease log.

import { stat } from 'node:fs/promises'
import type { Stores } from '../../app/stores.ts'
import { AGENTS } from '../../catalog/resources/agents.ts'
import type { ResourceAnswer } from '../../client/answers.ts'
import { createVendorClient } from '../../client/client.ts'
import type { SecretPlace } from '../../config/kept-secret.ts'
import type { WorkspaceConfig } from '../../config.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import type { RequestMade } from '../../core/governor/lease-entries.ts'
import { DAY, SECOND } from '../../core/time.ts'
import { ago, count, counted } from '../../core/words.ts'
import type { LeaseLog } from '../../landing/lease-log.ts'
import { quotaStatus } from '../../reports/quota.ts'
import { aheadBy, clocksApart, type Dated } from '../../steps/server-clock.ts'
import { quotaNotes } from '../terminal/notes.ts'
import { examine, type Finding, fail, ok, type Subject, skip, warn } from './findings.ts'

const placeText = (kept: SecretPlace): string => ('env' in kept ? `the variable ${kept.env}` : `the file ${kept.file}`)

/** True if other users can read the file; always false on Windows, which has no such file mode. */
const isReadableByOthers = async (file: string): Promise<boolean> =>
  process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0

export function tokenCheck(workspace: WorkspaceConfig): Promise<Finding[]> {
  const subject = { check: 'token', workspaceId: workspace.id }
  const { tokenKept } = workspace
  return examine(subject, async () => {
    workspace.readToken()
    const found = `set in ${placeText(tokenKept)}`
    if ('file' in tokenKept && (await isReadableByOthers(tokenKept.file)))
      return [
        warn(subject, `${found}, which other users can read`, `Restrict it to its owner: chmod 600 ${tokenKept.file}`),
      ]
    return [ok(subject, found)]
  })
}

/** Timeout of the request: shorter than a sync's, since a person waits for the answer. */
const TIMEOUT_MS = 15 * SECOND

const agentsOf = ({ envelope }: ResourceAnswer): number => envelope?.total ?? envelope?.records.length ?? 0

function answeredFinding(subject: Subject, apiUrl: string, answer: ResourceAnswer): Finding {
  const { sentAtMs, receivedAtMs } = answer.receipt
  const found = `${new URL(apiUrl).origin} answers (${count(receivedAtMs - sentAtMs)} ms) and accepts the token; ${counted(agentsOf(answer), 'agent')}`
  if (agentsOf(answer) > 0) return ok(subject, found)
  return warn(subject, found, 'Check the workspace id. If it is correct, there is nothing to export yet.')
}

/** The server time in a refusal; null if it has none. */
function serverTimeOf(error: unknown, sentAtMs: number) {
  const serverDateMs = error instanceof ConvohouseError ? error.facts.serverDateMs : null
  return typeof serverDateMs === 'number' ? { serverDateMs, sentAtMs, receivedAtMs: Date.now() } : null
}

async function ask(workspace: WorkspaceConfig, token: string): Promise<ResourceAnswer> {
  const timeoutMs = Math.min(workspace.timeoutMs, TIMEOUT_MS)
  const client = createVendorClient({ apiUrl: workspace.apiUrl, token, timeoutMs, maxAttempts: 1, connections: 1 })
  try {
    return await client.resource({ resource: AGENTS, workspaceId: workspace.id, limit: 1 })
  } finally {
    await client.close()
  }
}

/** Findings about the API and about the clock. */
export async function apiChecks(workspace: WorkspaceConfig): Promise<Finding[]> {
  const subject = { check: 'api', workspaceId: workspace.id }
  const sentAtMs = Date.now()
  try {
    const answer = await ask(workspace, workspace.readToken())
    return [answeredFinding(subject, workspace.apiUrl, answer), clockFinding(workspace.id, answer.receipt)]
  } catch (error) {
    const api = isCode(error, 'TOKEN_MISSING') ? skip(subject, 'not checked: there is no token') : fail(subject, error)
    return [api, clockFinding(workspace.id, serverTimeOf(error, sentAtMs))]
  }
}

/** With --offline: the findings about API and clock, both skipped. */
export const apiSkipped = ({ id: workspaceId }: WorkspaceConfig): Finding[] =>
  ['api', 'clock'].map(check => skip({ check, workspaceId }, 'not checked (--offline)'))

/** Clock differences below this are normal drift. */
const A_FEW_SECONDS_MS = 5 * SECOND

const CLOCK_HINT =
  "Synchronise the machine's clock (NTP). Until then, windows end by the earlier of both clocks, so nothing is skipped or " +
  "billed twice; ages such as --since 30d and displayed times use this machine's clock."

/** `answer` is null if the vendor did not answer. */
function clockFinding(workspaceId: string, answer: Dated | null): Finding {
  const subject = { check: 'clock', workspaceId }
  const aheadMs = answer && aheadBy(answer)
  if (aheadMs === null) return skip(subject, 'not checked: the vendor reported no time')
  if (Math.abs(aheadMs) <= A_FEW_SECONDS_MS) return ok(subject, "agrees with the vendor's within a few seconds")
  return warn(subject, clocksApart(aheadMs), CLOCK_HINT)
}

/** How far back the lease log is searched for the last answer. */
const LOOKBACK_MS = 7 * DAY

async function lastAnswer(leaseLog: LeaseLog, nowMs: number): Promise<RequestMade | undefined> {
  const entries = await leaseLog.recent(nowMs, LOOKBACK_MS)
  const answered = (entry: (typeof entries)[number]): entry is RequestMade =>
    entry.kind === 'request' && entry.status !== null && entry.status < 500
  return entries.filter(answered).at(-1)
}

const REFUSED = new Set([401, 402, 403])

export function exportCheck(stores: Stores, workspace: WorkspaceConfig): Promise<Finding[]> {
  const subject = { check: 'export', workspaceId: workspace.id }
  const nowMs = Date.now()
  const leaseLog = stores.leaseLog({ workspaceId: workspace.id, run: 'doctor' })
  return examine(subject, async () => {
    const last = await lastAnswer(leaseLog, nowMs)
    if (!last)
      return [
        skip(subject, 'not checked: each request is metered. The first sync shows whether the workspace has paid'),
      ]
    const when = ago(last.sentAtMs, nowMs)
    if (REFUSED.has(last.status!)) {
      const hint = 'The export is only for workspaces that have paid: ask the vendor, then run `convohouse sync`.'
      return [warn(subject, `refused the last request (${last.status}), ${when}`, hint)]
    }
    const quota = await quotaStatus({ leaseLog, settings: workspace, nowMs })
    const answered = `answered ${when}, so the workspace had paid`
    if (quota === null) return [ok(subject, answered)]
    const left = `${count(quota.sessionsLeft)} of ${counted(quota.includedSessions, 'session')} left in the billing period${quotaNotes(quota)}`
    if (quota.sessionsLeft > 0) return [ok(subject, `${answered}; ${left}`)]
    return [
      warn(
        subject,
        `${answered}; ${left}`,
        'A sync exports nothing until the next billing period, unless --allow-overage-packs allows more.',
      ),
    ]
  })
}
