// Checks the access to the vendor: token, API, clock, export and webhooks. Sends one unmetered request per workspace,
// for the list of agents. Export requests are metered, so none is sent: the lease log contains the last answer.
import { AGENTS } from '../../catalog/resources/agents.ts'
import { createVendorClient } from '../../client/client.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import type { RequestMade } from '../../core/governor/lease-entries.ts'
import { DAY, formatDuration, SECOND } from '../../core/time.ts'
import { ago, agreeing, count, counted } from '../../core/words.ts'
import { readWorkspaceSecrets } from '../../receiver/authenticate.ts'
import { quotaStatus } from '../../reports/quota.ts'
import { readDrainFailure } from '../../spool/drain-failure.ts'
import { hasSpool } from '../../spool/folders.ts'
import { readRefused } from '../../spool/refusal-record.ts'
import { aheadBy, clocksApart } from '../../steps/server-clock.ts'
import { hintOf, quotaNotes, refusedText } from '../terminal/notes.ts'
import { type Check, eachWorkspace, exposed, type Outcome, ok, outcomesOf, skip, warn } from './check.ts'

export const token = eachWorkspace(async workspace => {
  workspace.readToken()
  const { tokenKept: place } = workspace
  if ('env' in place) return ok(`set in the variable ${place.env}`)
  const [open] = await exposed('set in the file', [place.file])
  return open ?? ok(`set in the file ${place.file}`)
})

/** Timeout of the request. It is shorter than a sync's, since a person waits for the answer. */
const TIMEOUT_MS = 15 * SECOND

export const api = eachWorkspace(async (workspace, { offline, serverTimes }) => {
  const { id, apiUrl } = workspace
  serverTimes.set(id, null)
  if (offline) return skip('not checked (--offline)')
  const timeoutMs = Math.min(workspace.timeoutMs, TIMEOUT_MS)
  const sentAtMs = Date.now()
  try {
    const proxy = workspace.readProxy()
    const client = createVendorClient({
      ...{ apiUrl, token: workspace.readToken(), proxy, timeoutMs, maxAttempts: 1, connections: 1 },
    })
    const asked = client.resource({ resource: AGENTS, workspaceId: id, limit: 1 })
    const { receipt, envelope } = await asked.finally(client.close)
    serverTimes.set(id, receipt)
    const agents = envelope?.total ?? envelope?.records.length ?? 0
    const took = count(receipt.receivedAtMs - receipt.sentAtMs)
    const through = proxy ? ` through the proxy ${proxy.origin} (${proxy.variable})` : ''
    const found = `${new URL(apiUrl).origin} answers${through} (${took} ms) and accepts the token; ${counted(agents, 'agent')}`
    if (agents > 0) return ok(found)
    return warn(found, 'Check the workspace id. If it is correct, there is nothing to export yet.')
  } catch (error) {
    if (isCode(error, 'TOKEN_MISSING')) return skip('not checked: there is no token')
    const serverDateMs = error instanceof ConvohouseError ? error.facts.serverDateMs : null
    if (typeof serverDateMs === 'number') serverTimes.set(id, { serverDateMs, sentAtMs, receivedAtMs: Date.now() })
    throw error
  }
})

/** Clock differences below this are normal drift. */
const A_FEW_SECONDS_MS = 5 * SECOND

const CLOCK_HINT =
  "Synchronise the machine's clock (NTP). Until then, windows end by the earlier of both clocks, so nothing is skipped or " +
  "billed twice; ages such as --since 30d and displayed times use this machine's clock."

/** Compares the clocks; needs the answer that `api` got. */
export const clock = eachWorkspace(({ id }, { serverTimes }) => {
  const answer = serverTimes.get(id)
  const aheadMs = answer ? aheadBy(answer) : null
  if (aheadMs === null) return skip('not checked: the vendor reported no time')
  if (Math.abs(aheadMs) <= A_FEW_SECONDS_MS) return ok("agrees with the vendor's within a few seconds")
  return warn(clocksApart(aheadMs), CLOCK_HINT)
})

/** Age up to which the lease log is searched for the last answer. */
const LOOKBACK_MS = 7 * DAY

const REFUSED = [401, 402, 403]

export const exports = eachWorkspace(async (workspace, { stores, nowMs }) => {
  const leaseLog = stores.leaseLog({ workspaceId: workspace.id, run: 'doctor' })
  const entries = await leaseLog.recent(nowMs, LOOKBACK_MS)
  const last = entries.findLast(
    (entry): entry is RequestMade => entry.kind === 'request' && entry.status !== null && entry.status < 500,
  )
  if (!last) return skip('not checked: each request is metered. The first sync shows whether the workspace has paid')
  const when = ago(last.sentAtMs, nowMs)
  if (REFUSED.includes(last.status!)) {
    const hint =
      last.status === 401
        ? 'Check the token of this workspace, then run `convohouse sync`.'
        : 'The export is only for workspaces that have paid: ask the vendor, then run `convohouse sync`.'
    return warn(`refused the last request (${last.status}), ${when}`, hint)
  }
  const quota = await quotaStatus({ leaseLog, settings: workspace, nowMs })
  if (quota === null) return ok(`answered the last request, ${when}`)
  const left = `${count(quota.sessionsLeft)} of ${counted(quota.includedSessions, 'session')} left in the billing period${quotaNotes(quota)}`
  const found = `answered the last request, ${when}; ${left}`
  if (quota.sessionsLeft > 0) return ok(found)
  return warn(found, 'A sync exports nothing until the next billing period, unless --allow-overage-packs allows more.')
})

const NO_SECRET =
  'Configure one (`webhooks: { secrets: [{ env: NAME }] }`); otherwise receivers refuse the events of this workspace.'

/** Checks that the secret is set and long enough, that events are applied, and that none was refused. */
export const webhooks = eachWorkspace(async (workspace, { config: { home, source }, nowMs }) => {
  const secrets = await outcomesOf(() => {
    const [read] = readWorkspaceSecrets({ workspaces: [workspace], source })
    if (read)
      return ok(
        `${counted(read.secrets.length, 'secret')}, ${agreeing(read.secrets.length, '', 'each ')}set and long enough`,
      )
    return hasSpool(home, workspace.id) ? warn('events were received, but no secret is configured now', NO_SECRET) : []
  })
  const open = await exposed('a secret is in the file', workspace.webhookSecretFiles)
  return [
    ...secrets,
    ...open,
    ...(await draining(home, workspace.id, nowMs)),
    ...(await refusals(home, workspace.id, nowMs)),
  ]
})

async function draining(home: string, workspaceId: string, nowMs: number): Promise<Outcome[]> {
  const failure = await readDrainFailure(home, workspaceId)
  if (failure === null) return []
  const { what, hint, code, sinceMs } = failure
  const found = `events have not been applied for ${formatDuration(nowMs - sinceMs)}: ${what} (${code})`
  return [warn(found, hint ?? '`convohouse status` shows when it is retried.')]
}

/** Checks that no two workspaces share a secret, and that each received event belongs to a workspace. */
export const allWebhooks: Check = async ({ config, nowMs }) => {
  const readable = config.workspaces.filter(workspace => {
    try {
      return readWorkspaceSecrets({ ...config, workspaces: [workspace] }).length > 0
    } catch {
      // The workspace's own check reports this error.
      return false
    }
  })
  const shared = await outcomesOf(() => {
    readWorkspaceSecrets({ ...config, workspaces: readable })
    return []
  })
  return [...shared, ...(await refusals(config.home, null, nowMs))]
}

/** Only refusals of the last day are warnings; `status` also shows older ones. */
const RECENT_MS = DAY

async function refusals(home: string, workspaceId: string | null, nowMs: number): Promise<Outcome[]> {
  const refused = await readRefused(home)
  return refused
    .filter(one => one.workspaceId === workspaceId && nowMs - one.lastMs < RECENT_MS)
    .map(one => warn(refusedText(one, nowMs), hintOf(one)))
}
