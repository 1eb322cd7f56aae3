// `convohouse ledger`: what the vendor looked at, against what is held, and why the two differ. Asks nobody but the
// warehouse, whoever holds it.
import { quoteText } from '../../catalog/layout.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'
import { invalidFlag } from '../flags/values.ts'
import { chooseIds } from '../flags/workspaces.ts'
import { chooseFormat, type RowFormat } from '../output/format.ts'
import { writeResult } from '../output/write.ts'
import { configIfAny, type Storage, storageOf } from '../query/storage.ts'
import { queryWarehouse } from '../query/warehouse-client.ts'
import { type Rows, reportRows, withReportRows, workspacesIn } from '../status/reading.ts'
import { print, printJson } from '../terminal/print.ts'
import { isTerminal, styleOf } from '../terminal/style.ts'
import { type By, ledgerSql, type Scope } from './counts.ts'
import { ledgerLines } from './ledger-text.ts'
import { type WorkspaceLedger, workspaceLedger } from './workspace.ts'

export interface LedgerFlags {
  config?: string
  workspace?: string
  agent?: string[]
  /** ms since the epoch. */
  since?: number
  by: By
  format?: RowFormat
  json?: boolean
}

const TIMEOUT_MS = 60 * SECOND

/** The rows alone, for programs. */
async function writeRows(storage: Storage, scope: Scope, { by, format }: LedgerFlags): Promise<void> {
  const result = await queryWarehouse({ storage, sql: ledgerSql(scope, by), timeoutMs: TIMEOUT_MS })
  const chosen = chooseFormat(format, process.stdout) as RowFormat
  await writeResult({ result, format: chosen, to: process.stdout })
}

/** @throws AGENT_UNKNOWN where nothing is known of an agent: a mistyped id would look like one of which nothing has been read */
async function expectAgents(rows: Rows, { workspaceIds, agents }: Scope): Promise<void> {
  if (agents.length === 0 || workspaceIds.length === 0) return
  const known = await rows<{ id: string }>(
    `SELECT DISTINCT agent_id AS id FROM (
       SELECT workspace_id, agent_id FROM agents UNION SELECT workspace_id, agent_id FROM conversations
     ) WHERE workspace_id IN (${workspaceIds.map(quoteText).join(', ')}) ORDER BY id`,
  )
  const ids = known.map(({ id }) => id)
  const unknown = agents.find(agent => !ids.includes(agent))
  if (unknown === undefined) return
  throw new ConvohouseError('AGENT_UNKNOWN', {
    what: `The warehouse has no agent ${JSON.stringify(unknown)}.`,
    hint: `Choose one of: ${ids.slice(0, 10).join(', ') || '(none)'}.`,
    facts: { agentId: unknown },
  })
}

function show(ledgers: readonly WorkspaceLedger[]): void {
  const width = isTerminal(process.stdout) ? process.stdout.columns : undefined
  const options = { width, style: styleOf(process.stdout) }
  if (ledgers.length === 0) print('Nothing has been read yet: run `convohouse sync`.')
  for (const [at, ledger] of ledgers.entries()) print(...(at > 0 ? [''] : []), ...ledgerLines(ledger, options))
}

/** @throws AGENT_UNKNOWN, CONFIG_INVALID, FLAG_INVALID, WORKSPACE_UNKNOWN, WAREHOUSE_MISSING, WAREHOUSE_LOCKED */
export async function runLedger(flags: LedgerFlags): Promise<void> {
  if (flags.json && flags.format)
    throw invalidFlag(
      '--json and --format contradict each other.',
      'Leave one of the two out: --json tells everything, --format the rows.',
    )
  const config = configIfAny(flags.config)
  const storage = storageOf(flags.config)
  const { agent: agents = [], since: sinceMs = null, by } = flags
  if (flags.format) {
    const rows = reportRows(storage)
    const workspaceIds = chooseIds(await workspacesIn(rows), flags.workspace)
    await expectAgents(rows, { workspaceIds, agents, sinceMs })
    return writeRows(storage, { workspaceIds, agents, sinceMs }, flags)
  }
  const ledgers = await withReportRows(storage, async rows => {
    const found: WorkspaceLedger[] = []
    const workspaceIds = chooseIds(await workspacesIn(rows), flags.workspace)
    await expectAgents(rows, { workspaceIds, agents, sinceMs })
    for (const workspaceId of workspaceIds) {
      const settings = config?.workspaces.find(({ id }) => id === workspaceId)
      found.push(await workspaceLedger({ rows, workspaceId, settings, agents, sinceMs, by, nowMs: Date.now() }))
    }
    return found
  })
  if (flags.json) printJson({ home: storage.home, workspaces: ledgers })
  else show(ledgers)
}
