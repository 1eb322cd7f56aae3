// The finding of one check: a line for people, an object for machines.

import { counted } from '../../core/words.ts'
import { describeError } from '../terminal/error-text.ts'
import { plain, type Style, type TextStyle } from '../terminal/style.ts'

/** `skip`: not checked, with the reason. */
type State = 'ok' | 'warn' | 'fail' | 'skip'

export interface Subject {
  /** Name of the check. */
  check: string
  /** Absent for checks that concern no single workspace. */
  workspaceId?: string
}

export interface Finding {
  check: string
  workspaceId: string | null
  state: State
  found: string
  hint: string | null
  /** Code of the error; null unless the check failed. */
  code: string | null
  /** The command's exit code if this is its first failed check; 0 unless the check failed. */
  exitCode: number
}

const finding = (subject: Subject, state: State, found: string, hint: string | null = null): Finding => ({
  workspaceId: null,
  ...subject,
  ...{ state, found, hint, code: null, exitCode: 0 },
})

export const ok = (subject: Subject, found: string): Finding => finding(subject, 'ok', found)

export const warn = (subject: Subject, found: string, hint: string): Finding => finding(subject, 'warn', found, hint)

export const skip = (subject: Subject, why: string): Finding => finding(subject, 'skip', why)

/** The finding of a check that failed with this error. */
export function fail(subject: Subject, error: unknown): Finding {
  const { code, what, hint, exitCode } = describeError(error)
  return { ...finding(subject, 'fail', what, hint), code, exitCode }
}

/** Runs a check. A thrown error becomes a failed finding, so that the other checks still run. */
export async function examine(subject: Subject, work: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await work()
  } catch (error) {
    return [fail(subject, error)]
  }
}

const STYLES: Record<State, TextStyle> = { ok: 'green', warn: 'yellow', fail: 'red', skip: 'dim' }

const CHECK_WIDTH = 13

function lines({ state, check, workspaceId, found, hint, code }: Finding, style: Style): string[] {
  const whose = workspaceId === null ? '' : `${workspaceId}: `
  const head = `${style(STYLES[state], state.padEnd(4))}  ${check.padEnd(CHECK_WIDTH)}  ${whose}${found}${code ? ` (${code})` : ''}`
  return hint === null ? [head] : [head, `${' '.repeat(4 + 2 + CHECK_WIDTH)}  → ${hint}`]
}

const numberOf = (findings: readonly Finding[], state: State): number =>
  findings.filter(finding => finding.state === state).length

function summary(findings: readonly Finding[]): string {
  const failed = numberOf(findings, 'fail')
  const warned = numberOf(findings, 'warn')
  const warnings = counted(warned, 'warning')
  if (failed > 0) return `${counted(failed, 'check')} failed${warned > 0 ? `, and ${warnings}` : ''}.`
  return warned > 0 ? `Nothing failed; ${warnings}.` : 'Everything is fine.'
}

/** A line for each finding, with its hint below, and a summary. */
export const doctorLines = (findings: readonly Finding[], style: Style = plain): string[] => [
  ...findings.flatMap(finding => lines(finding, style)),
  '',
  summary(findings),
]
