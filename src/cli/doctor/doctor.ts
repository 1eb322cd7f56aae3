// `convohouse doctor`: checks everything that a sync depends on, in order. It exports nothing and leaves no files
// behind, except the extension for a target in PostgreSQL, if that must be downloaded.
import type { Command } from 'commander'
import { openStores } from '../../app/stores.ts'
import { EXIT_CODES } from '../../core/errors.ts'
import { counted } from '../../core/words.ts'
import { withWarehouseRows } from '../../warehouse/query/rows.ts'
import { chooseWorkspaces, configAt } from '../flags/configuration.ts'
import { addConfigFlag, addMaxAgeFlag, addWorkspaceFlag } from '../flags/sync-flags.ts'
import { visibleLines } from '../terminal/controls.ts'
import { print, printJson } from '../terminal/print.ts'
import { type Style, styleOf, type TextStyle } from '../terminal/style.ts'
import { allWebhooks, api, clock, exports, token, webhooks } from './access.ts'
import { type Check, fail, inWarehouse, type Outcome, ok, outcomesOf, type Setup, skip } from './check.ts'
import {
  dataFolder,
  freshness,
  gaps,
  landing,
  loads,
  memory,
  models,
  nodeVersion,
  quarantine,
  rules,
  serviceLevels,
  space,
  timeZones,
  unconfigured,
  warehouse,
} from './storage.ts'
import { targets } from './targets.ts'

/** Checks in the order in which they run, with the names that their lines show. */
const CHECKS: readonly [name: string, check: Check][] = [
  ['token', token],
  ['api', api],
  ['clock', clock],
  ['export', exports],
  ['webhooks', webhooks],
  ['webhooks', allWebhooks],
  ['data folder', dataFolder],
  ['space', space],
  ['memory', ({ config }) => memory(config)],
  ['landing', landing],
  ['time zones', timeZones],
  ['warehouse', warehouse],
  ['rules', inWarehouse(rules)],
  ['models', inWarehouse(models)],
  ['quarantine', inWarehouse(quarantine)],
  ['loads', inWarehouse(loads)],
  ['freshness', inWarehouse(freshness)],
  ['gaps', inWarehouse(gaps)],
  ['service levels', inWarehouse(serviceLevels)],
  ['workspaces', inWarehouse(unconfigured)],
  ['targets', targets],
]

interface DoctorFlags {
  config?: string
  workspace?: string
  offline?: boolean
  /** ms. */
  maxAge?: number
  json?: boolean
}

export const define = (command: Command): Command =>
  addMaxAgeFlag(addWorkspaceFlag(addConfigFlag(command)))
    .option('--offline', 'make no request and no connection: check only the configuration and the data folder')
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse doctor                        configuration, token, API, clock, disk, landing, warehouse, targets
  $ convohouse doctor --offline              no requests
  $ convohouse doctor --json | jq '.checks[] | select(.state != "ok")'

It makes one request per workspace, for the list of agents, which costs nothing, and connects to targets in PostgreSQL and S3
(in S3 it writes, copies and deletes an object).
The exit code is 0 if every check passed, else the code of the first failed check: 1 if data is older than its schedule allows.`,
    )
    .action(async (flags: DoctorFlags) => {
      process.exitCode = await runDoctor(flags)
    })

export type Finding = { check: string } & Outcome

/** Prints the findings; returns the exit code of the first failed check, else 0. */
async function runDoctor(flags: DoctorFlags): Promise<number> {
  const findings = await diagnose(flags)
  const exitCode = findings.find(({ state }) => state === 'fail')?.exitCode ?? EXIT_CODES.ok
  if (flags.json) {
    const checks = findings.map(({ exitCode: _, ...finding }) => finding)
    printJson({ ok: exitCode === EXIT_CODES.ok, exitCode, checks })
  } else print(...findings.flatMap(finding => lines(finding, styleOf(process.stdout))), '', summary(findings))
  return exitCode
}

const named = (check: string, outcomes: readonly Outcome[]): Finding[] =>
  outcomes.map(outcome => ({ check, ...outcome }))

async function diagnose(flags: DoctorFlags): Promise<Finding[]> {
  const node = named('node', [nodeVersion()])
  try {
    const config = configAt(flags.config)
    const workspaces = chooseWorkspaces(config, flags.workspace)
    const found = `${config.source}: ${counted(config.workspaces.length, 'workspace')} (${config.workspaces.map(({ id }) => id).join(', ')}), data folder ${config.home}`
    const given = { stores: openStores(config.home), offline: flags.offline === true, maxAgeMs: flags.maxAge }
    return [...node, ...named('configuration', [ok(found)]), ...(await examine({ config, workspaces, ...given }))]
  } catch (error) {
    const others = skip('not checked: they need a configuration')
    return [...node, ...named('configuration', [fail(error)]), ...named('all others', [others])]
  }
}

/** Runs all checks, with the warehouse opened once. */
function examine(given: Pick<Setup, 'config' | 'workspaces' | 'stores' | 'offline' | 'maxAgeMs'>): Promise<Finding[]> {
  return withWarehouseRows(given.config, async (rows, isHeld) => {
    const setup: Setup = { ...given, rows, isHeld, nowMs: Date.now(), answers: false, serverTimes: new Map() }
    const findings: Finding[] = []
    for (const [name, check] of CHECKS) findings.push(...named(name, await outcomesOf(() => check(setup))))
    return findings
  })
}

const STYLES: Record<Outcome['state'], TextStyle> = { ok: 'green', warn: 'yellow', fail: 'red', skip: 'dim' }

const CHECK_WIDTH = 13

function lines({ state, check, workspaceId, found, hint, code }: Finding, style: Style): string[] {
  const whose = workspaceId === null ? '' : `${workspaceId}: `
  const head = `${style(STYLES[state], state.padEnd(4))}  ${check.padEnd(CHECK_WIDTH)}  ${whose}${visibleLines(found)}${code ? ` (${code})` : ''}`
  return hint === null ? [head] : [head, `${' '.repeat(4 + 2 + CHECK_WIDTH)}  → ${visibleLines(hint)}`]
}

function summary(findings: readonly Finding[]): string {
  const numberOf = (state: Outcome['state']) => findings.filter(finding => finding.state === state).length
  const [failed, warned] = [numberOf('fail'), numberOf('warn')]
  const warnings = counted(warned, 'warning')
  if (failed > 0) return `${counted(failed, 'check')} failed${warned > 0 ? `, and ${warnings}` : ''}.`
  return warned > 0 ? `Nothing failed; ${warnings}.` : 'Everything is fine.'
}
