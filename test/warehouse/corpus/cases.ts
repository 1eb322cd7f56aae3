// The cases of the corpus. `NAME.records.json` is one page of conversations, as text, because some cases contain what
// no JavaScript value can: digits of large numbers, a duplicate key. `NAME.case.yaml` is a workspace: the pages and
// events that arrive in it, in order. `NAME.rows.json` has the expected rows.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parse } from 'yaml'
import type { WindowKind } from '../../../src/core/planning/windows.ts'
import type { ResponseRules } from '../../../src/core/response-rules.ts'
import type { AgentsPage, ConversationPage } from '../landed-pages.ts'

export const FOLDER = join(import.meta.dirname, 'cases')

/**
 * A page that lands or an event that arrives. `at`: time of the request, server's clock, or of the receipt. `text`:
 * JSON of one more agent, or of the page or event, where digits and duplicate keys count. `load`: it is loaded before
 * the next step, even if that is of the same kind.
 */
export type Step = { at?: string; load?: true } & (
  | ({
      conversations: object[]
      agent?: string
      window?: { kind?: WindowKind; from?: number; to?: number; opened?: number }
      text?: string
    } & Pick<ConversationPage, 'facts' | 'usage' | 'bill' | 'rateLimit'>)
  | ({ agents: object[]; starred?: object[]; text?: string } & Pick<AgentsPage, 'starredIds' | 'lastPage'>)
  | { organization: object | null; id: string }
  | { teams: object[]; id: string; lastPage?: boolean }
  | { metric: { id: string; key: string; type: string } }
  | { voices: { provider: string; voiceId: string; name: string }[] }
  | { event: string; payload: Record<string, unknown> }
  | { event: string; text: string }
)

/** A case with a separate workspace, named after it. */
export interface WorkspaceCase {
  timeZone?: string
  /** Business hours and service levels; default: none. */
  rules?: Partial<ResponseRules>
  /** Tables and marts to compare, with the SELECT list of each; default: every table of records. */
  show?: Record<string, string>
  steps: Step[]
}

const named = (ending: string): string[] =>
  readdirSync(FOLDER).flatMap(name => (name.endsWith(ending) ? [basename(name, ending)] : []))

/** Cases of one page. They share the workspace `records`; each is an agent with the case's name. */
export const RECORDS = named('.records.json')

export const RECORDS_WORKSPACE = 'records'

export const recordsText = (name: string): string => readFileSync(join(FOLDER, `${name}.records.json`), 'utf8')

export const WORKSPACES = named('.case.yaml')

export const workspaceCase = (name: string): WorkspaceCase =>
  parse(readFileSync(join(FOLDER, `${name}.case.yaml`), 'utf8'), { merge: true }) as WorkspaceCase
