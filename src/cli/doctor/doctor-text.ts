// The diagnosis for people.
import { type Look, plain, type Style } from '../terminal/style.ts'
import { counted } from '../terminal/words.ts'
import type { Finding, State } from './findings.ts'

const LOOKS: Record<State, Look> = { ok: 'green', warn: 'yellow', fail: 'red', skip: 'dim' }

const CHECK_WIDTH = 13

function lines({ state, check, workspaceId, found, hint, code }: Finding, style: Style): string[] {
  const whose = workspaceId === null ? '' : `${workspaceId}: `
  const head = `${style(LOOKS[state], state.padEnd(4))}  ${check.padEnd(CHECK_WIDTH)}  ${whose}${found}${code ? ` (${code})` : ''}`
  return hint === null ? [head] : [head, `${' '.repeat(4 + 2 + CHECK_WIDTH)}  → ${hint}`]
}

const numberOf = (findings: readonly Finding[], state: State): number =>
  findings.filter(finding => finding.state === state).length

export function summary(findings: readonly Finding[]): string {
  const failed = numberOf(findings, 'fail')
  const warned = numberOf(findings, 'warn')
  const warnings = counted(warned, 'warning')
  if (failed > 0) return `${counted(failed, 'check')} failed${warned > 0 ? `, and ${warnings}` : ''}.`
  return warned > 0 ? `Nothing failed; ${warnings}.` : 'All is well.'
}

/** A line a finding, how to mend it below, and a summary. */
export const doctorLines = (findings: readonly Finding[], style: Style = plain): string[] => [
  ...findings.flatMap(finding => lines(finding, style)),
  '',
  summary(findings),
]
