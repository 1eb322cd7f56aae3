// Whether the API answers, and takes the token: one request, of the list of agents, which is not metered. The export is
// never asked: it is.
import { AGENTS } from '../../catalog/resources/agents.ts'
import type { WorkspaceConfig } from '../../config.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import type { ResourceAnswer } from '../../vendor/answers.ts'
import { createVendorClient } from '../../vendor/client.ts'
import { count, counted } from '../terminal/words.ts'
import { clockFinding } from './clock.ts'
import { type Finding, fail, ok, type Subject, skip, warn } from './findings.ts'

/** Who waits for a diagnosis does not wait as long as a sync does. */
const PATIENCE_MS = 15 * SECOND

const agentsOf = ({ envelope }: ResourceAnswer): number => envelope?.total ?? envelope?.records.length ?? 0

function answeredFinding(subject: Subject, apiUrl: string, answer: ResourceAnswer): Finding {
  const { sentAtMs, receivedAtMs } = answer.receipt
  const found = `${new URL(apiUrl).origin} answers (${count(receivedAtMs - sentAtMs)} ms) and accepts the token; ${counted(agentsOf(answer), 'agent')}`
  if (agentsOf(answer) > 0) return ok(subject, found)
  return warn(subject, found, 'Check the id of the workspace; if it is right, there is nothing to read yet.')
}

/** What a refusal tells of the vendor's clock. */
function toldBy(error: unknown, sentAtMs: number) {
  const serverDateMs = error instanceof ConvohouseError ? error.facts.serverDateMs : null
  return typeof serverDateMs === 'number' ? { serverDateMs, sentAtMs, receivedAtMs: Date.now() } : null
}

async function ask(workspace: WorkspaceConfig, token: string): Promise<ResourceAnswer> {
  const timeoutMs = Math.min(workspace.timeoutMs, PATIENCE_MS)
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
    const api = isCode(error, 'TOKEN_MISSING') ? skip(subject, 'not asked: there is no token') : fail(subject, error)
    return [api, clockFinding(workspace.id, toldBy(error, sentAtMs))]
  }
}

/** The same findings where nobody is to be asked. */
export const apiSkipped = ({ id: workspaceId }: WorkspaceConfig): Finding[] =>
  ['api', 'clock'].map(check => skip({ check, workspaceId }, 'not asked (--offline)'))
