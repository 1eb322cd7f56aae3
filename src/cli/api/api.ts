// `convohouse api`: makes one request of the API with arguments from flags, and prints its answer.
import type { Command } from 'commander'
import { type ApiClient, createApiClient } from '../../client/api/api-client.ts'
import { type Effect, OPERATIONS, type Operation } from '../../client/api/operations.ts'
import type { Usage } from '../../client/api/records/conversation.ts'
import { type Arguments, checkArguments } from '../../client/api/target.ts'
import { countRemoved, redactSecrets } from '../../client/redaction/redaction.ts'
import type { WorkspaceConfig } from '../../config.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { counted } from '../../core/words.ts'
import { chooseWorkspaces, configAt } from '../flags/configuration.ts'
import { addConfigFlag } from '../flags/sync-flags.ts'
import { filled, invalidFlag, repeated } from '../flags/values.ts'
import { grid, gridOnStdout } from '../terminal/columns.ts'
import { confirm, isInteractive } from '../terminal/confirm.ts'
import { answerFor } from '../terminal/controls.ts'
import { log, print, printJson } from '../terminal/print.ts'
import { STOPPING, stopOnSignals } from '../terminal/signals.ts'
import { similarName } from '../terminal/similar-name.ts'
import { argumentsFrom, type RequestFlags } from './arguments.ts'

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .argument('[operation]', 'for example listTools; without it, all operations are listed')
    .option('-w, --workspace <id>', 'the workspace; needed if several are configured', filled('--workspace'))
    .option('-a, --agent <id>', 'the agent', filled('--agent'))
    .option('--metric <id>', 'the custom metric', filled('--metric'))
    .option('--org <id>', 'the organization', filled('--org'))
    .option('--job <id>', 'the crawler job', filled('--job'))
    .option('--page <id>', 'the page of the crawler job', filled('--page'))
    .option('-q, --query <name=value>', 'a query parameter; may be repeated', repeated('--query'))
    .option('-b, --body <file>', 'the body as JSON; - reads standard input', filled('--body'))
    .option('--show-secrets', 'print secrets in answers, which are left out otherwise; never the API token')
    .option('-y, --yes', 'skip the question before an operation that writes, deletes or bills')
    .option('--json', 'the list of operations, and errors, as JSON')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse api
  $ convohouse api listTools --agent ag_1
  $ convohouse api listVoices --query language=de --query limit=5
  $ convohouse api createVariable --agent ag_1 --body variable.json
  $ echo '{"updates": {"workspaceName": "North"}}' | convohouse api updateWorkspace --body - --yes
  $ convohouse api exportConversations --agent ag_1 --query limit=5 --yes

Operations that write or delete ask first, and are never repeated automatically once they may have been carried out. exportConversations asks, too:
it bills sessions and uses hourly requests, outside the limits that a sync keeps, and what it prints is not loaded.`,
    )
    .action(async (operation: string | undefined, flags: ApiFlags) => {
      await runApi(operation, flags)
    })

export interface ApiFlags extends RequestFlags {
  config?: string
  workspace?: string
  showSecrets?: boolean
  yes?: boolean
  json?: boolean
}

const operations: readonly Operation[] = OPERATIONS

function operationNamed(name: string): Operation {
  const found = operations.find(operation => operation.name === name)
  if (found) return found
  const names = operations.map(operation => operation.name)
  // The vendor lists some resources by `search…`.
  const noun = name.toLowerCase().replace(/^(list|get)(?=.)/, '')
  const close =
    names.find(known => known.toLowerCase() === name.toLowerCase()) ??
    similarName(name, names) ??
    names.find(known => known.toLowerCase() === `search${noun}`)
  const hint = close ? `Did you mean ${close}?` : '`convohouse api` lists the operations.'
  throw invalidFlag(`There is no operation ${JSON.stringify(name)}.`, hint)
}

function listOperations(json: boolean): void {
  if (json) {
    printJson(operations)
    return
  }
  const columns = ['operation', 'section', 'effect', 'request', 'about'].map(name => ({ name }))
  const rows = operations.map(({ name, section, effect, method, path, about }) => [
    name,
    section,
    effect,
    `${method} ${path}`,
    about,
  ])
  print(...grid(columns, rows, gridOnStdout()))
}

/** @throws FLAG_INVALID, CONFIG_INVALID, CONFIG_MISSING, WORKSPACE_UNKNOWN, TOKEN_MISSING, CONFIRMATION_NEEDED, INTERRUPTED, VendorError */
async function runApi(name: string | undefined, flags: ApiFlags): Promise<void> {
  if (name === undefined) return listOperations(flags.json === true)
  const operation = operationNamed(name)
  const workspace = theWorkspace(flags)
  const given = await argumentsFrom(operation, flags, workspace.id)
  checkArguments(operation, given)
  const stop = stopOnSignals(() => log(STOPPING))
  try {
    if (!(await isAllowed({ operation, given, workspace, flags, stopping: stop.stopping }))) return
    const answer = await request(operation, given, { workspace, signal: stop.aborted })
    printAnswer(operation, answer, flags.showSecrets === true)
  } finally {
    stop.release()
  }
}

function theWorkspace(flags: ApiFlags): WorkspaceConfig {
  const chosen = chooseWorkspaces(configAt(flags.config), flags.workspace)
  if (chosen.length === 1) return chosen[0]!
  throw invalidFlag(
    `api needs --workspace: ${chosen.length} workspaces are configured.`,
    `Add --workspace with one of: ${chosen.map(({ id }) => id).join(', ')}.`,
  )
}

const EFFECTS: Readonly<Record<Exclude<Effect, 'reads'>, string>> = {
  writes: 'changes data at the vendor',
  deletes: 'deletes data at the vendor, which cannot be undone',
  bills: "bills each session with a person's messages, and counts toward the hourly limit",
}

interface Consent {
  operation: Operation
  given: Arguments
  workspace: WorkspaceConfig
  flags: ApiFlags
  stopping: AbortSignal
}

async function isAllowed({ operation, given, workspace, flags, stopping }: Consent): Promise<boolean> {
  if (operation.effect === 'reads' || flags.yes) return true
  const path = operation.path.replace(/\{(\w+)\}/g, (_, id: string) => String(given[id]))
  const what = `${operation.method} ${path} ${EFFECTS[operation.effect]}`
  if (flags.json || flags.body === '-' || !isInteractive())
    throw new ConvohouseError('CONFIRMATION_NEEDED', {
      what: `${what}; it was not confirmed.`,
      hint: 'Check the ids, then add --yes.',
    })
  const question = `Workspace ${workspace.id}: ${what}. Continue?`
  const yes = await confirm(question, { signal: stopping, stopped: 'Stopped; nothing was sent.' })
  if (!yes) log('Nothing was sent.')
  return yes
}

type Method = (given: Arguments, options: { signal: AbortSignal }) => Promise<unknown>

async function request(
  { name }: Operation,
  given: Arguments,
  { workspace, signal }: { workspace: WorkspaceConfig; signal: AbortSignal },
): Promise<unknown> {
  const { apiUrl, timeoutMs, readToken, readProxy } = workspace
  const api = createApiClient({ apiUrl, token: readToken(), proxy: readProxy(), timeoutMs, connections: 1 })
  try {
    return await (api[name as keyof ApiClient] as unknown as Method)(given, { signal })
  } finally {
    await api.close()
  }
}

function printAnswer({ effect }: Operation, answer: unknown, showSecrets: boolean): void {
  if (effect === 'bills') {
    const { usage } = (typeof answer === 'object' ? answer : {}) as { usage?: Usage }
    log(
      usage
        ? usageText(usage)
        : 'The answer does not tell what it billed: `convohouse status` knows after the next sync.',
    )
  }
  if (typeof answer === 'string') {
    process.stdout.write(answerFor(process.stdout, answer))
    return
  }
  // Conversations are customer data, which also lands unchanged.
  const isShown = showSecrets || effect === 'bills'
  const { value, droppedPaths } = isShown ? { value: answer, droppedPaths: [] } : redactSecrets(answer)
  process.stdout.write(answerFor(process.stdout, `${JSON.stringify(value, null, 2)}\n`))
  if (droppedPaths.length === 0) return
  const places = Object.keys(countRemoved(droppedPaths)).join(', ')
  log(`${counted(droppedPaths.length, 'secret')} left out (${places}); --show-secrets prints them.`)
}

function usageText({ billableUsedThisRequest, billableUsedThisPeriod, includedQuota }: Usage): string {
  const billed = counted(billableUsedThisRequest ?? 0, 'session')
  return `Billed: ${billed}; ${billableUsedThisPeriod ?? '?'} of ${includedQuota ?? '?'} used in this period.`
}
