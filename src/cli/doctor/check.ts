// A check of `doctor`: a function that returns its findings, or throws an error.
import { stat } from 'node:fs/promises'
import type { Stores } from '../../app/stores.ts'
import type { Config, WorkspaceConfig } from '../../config.ts'
import { EXIT_CODES } from '../../core/errors.ts'
import type { Overdue } from '../../core/overdue.ts'
import type { Rows } from '../../warehouse/query/rows.ts'
import { describeError } from '../terminal/error-text.ts'

export interface Outcome {
  /** `skip`: not checked, with the reason. */
  state: 'ok' | 'warn' | 'fail' | 'skip'
  found: string
  hint: string | null
  /** Code of the error; null unless the check failed with one. */
  code: string | null
  /** The command's exit code if this is its first failed check; 0 unless the check failed. */
  exitCode: number
  /** Null for a check that concerns no single workspace. */
  workspaceId: string | null
}

const outcome = (state: Outcome['state'], found: string, hint: string | null = null): Outcome => ({
  ...{ state, found, hint, code: null, exitCode: 0, workspaceId: null },
})

export const ok = (found: string): Outcome => outcome('ok', found)

export const warn = (found: string, hint: string): Outcome => outcome('warn', found, hint)

export const skip = (why: string): Outcome => outcome('skip', why)

/** A failure without an error: the data is older than allowed. */
export const overdue = (of: Overdue) => ({ ...outcome('fail', of.what, of.hint), exitCode: EXIT_CODES.overdue })

export function fail(error: unknown): Outcome {
  const { code, what, hint, exitCode } = describeError(error)
  return { ...outcome('fail', what, hint), code, exitCode }
}

/** Warns of files with secrets that other users can read. Another check reports a missing file. */
export async function exposed(what: string, files: readonly string[]): Promise<Outcome[]> {
  if (process.platform === 'win32') return []
  const modes = await Promise.all(
    files.map(file =>
      stat(file).then(
        ({ mode }) => mode,
        () => 0,
      ),
    ),
  )
  return files
    .filter((_, index) => (modes[index]! & 0o077) !== 0)
    .map(file => warn(`${what} ${file}, which other users can read`, `Restrict it to its owner: chmod 600 ${file}`))
}

/** Everything that checks examine. */
export interface Setup {
  config: Config
  stores: Stores
  /** The workspaces to check. */
  workspaces: readonly WorkspaceConfig[]
  offline: boolean
  nowMs: number
  /** `--max-age`, ms. */
  maxAgeMs: number | undefined
  /** Queries the warehouse. */
  rows: Rows
  /** True if another process answers these queries. */
  isHeld: () => boolean
  /** True once a check has found that the warehouse can be queried. */
  answers: boolean
  /** Server time in the vendor's answer, by workspace; null if the answer had none. */
  serverTimes: Map<string, { serverDateMs: number | null; sentAtMs: number; receivedAtMs: number } | null>
}

type Found = Outcome | Outcome[]

export type Check = (setup: Setup) => Found | Promise<Found>

/** Runs a check. An error that it throws becomes a failure, so that the other checks still run. */
export async function outcomesOf(check: () => Found | Promise<Found>): Promise<Outcome[]> {
  try {
    return [await check()].flat()
  } catch (error) {
    return [fail(error)]
  }
}

/** Checks each workspace separately. */
export const eachWorkspace =
  (check: (workspace: WorkspaceConfig, setup: Setup) => Found | Promise<Found>): Check =>
  async setup => {
    const all: Outcome[] = []
    for (const workspace of setup.workspaces)
      for (const found of await outcomesOf(() => check(workspace, setup)))
        all.push({ ...found, workspaceId: workspace.id })
    return all
  }

/** Checks the contents of the warehouse, if it can be queried. */
export const inWarehouse =
  (check: Check): Check =>
  setup =>
    setup.answers ? check(setup) : []
