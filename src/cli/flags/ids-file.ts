// Reads the list of conversations that `--ids` names: one id per line, `agent,id` lines, or CSV with a header. If a
// line names no agent, the agent is looked up in the warehouse.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { groupedByAgent, type IdsByAgent } from '../../core/planning/id-windows.ts'
import { agreeing, counted } from '../../core/words.ts'
import { readForgotten } from '../../landing/tombstones.ts'
import { log } from '../terminal/print.ts'
import { csvLines } from './csv-lines.ts'
import { invalidFlag } from './values.ts'

export interface NamedConversation {
  /** Null if the line names no agent. */
  agentId: string | null
  id: string
  /** Line number in the file, from 1. */
  line: number
}

const invalid = (line: number, why: string): ConvohouseError =>
  new ConvohouseError('FLAG_INVALID', {
    what: `line ${line} ${why}.`,
    hint: 'Give one id per line, agent,id lines, or a CSV file (UTF-8, commas) with the columns conversation_id and agent_id.',
    facts: { line },
  })

/** Column names, compared without case, blanks, `_` and `-`. */
const AGENT_COLUMN = /^agent(?:id)?$/
const ID_COLUMN = /^(?:id|conversation|conversationid|convoid)$/

const columnAt = (names: readonly string[], wanted: RegExp): number =>
  names.findIndex(name => wanted.test(name.toLowerCase().replace(/[\s_-]/g, '')))

/** Parses a list. A byte order mark, blank lines, and lines that begin with # are ignored. @throws FLAG_INVALID that names the line */
export function parseIds(content: string): NamedConversation[] {
  const [first, ...rest] = csvLines(content, line =>
    invalid(line, 'is neither an id nor agent,id: put quotes around ids with ; " or a tab'),
  )
  if (first === undefined) return []
  const [agentAt, idAt] = [columnAt(first.cells, AGENT_COLUMN), columnAt(first.cells, ID_COLUMN)]
  const hasHeader = idAt >= 0
  return (hasHeader ? rest : [first, ...rest]).map(({ line, cells }) => {
    if (!hasHeader && cells.length > 2) throw invalid(line, `has ${cells.length} columns but no header that names them`)
    const [agentId, id] = hasHeader ? [cells[agentAt], cells[idAt]] : cells.length === 2 ? cells : [null, cells[0]]
    if (!id) throw invalid(line, 'names no conversation')
    if (id.includes(',')) throw invalid(line, 'names an id with a comma, with which the API separates ids')
    return { agentId: agentId || null, id, line }
  })
}

function parsed(place: string, content: string): NamedConversation[] {
  try {
    return parseIds(content)
  } catch (error) {
    if (!isCode(error, 'FLAG_INVALID')) throw error
    throw invalidFlag(`--ids: ${place}, ${error.message}`, error.hint!)
  }
}

/** @throws FLAG_INVALID if the file cannot be read or names no conversation */
async function readIds(file: string): Promise<NamedConversation[]> {
  const place = file === '-' ? 'Standard input' : file
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch(cause => {
    const why =
      (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'the file does not exist' : (cause as Error).message
    throw invalidFlag(
      `--ids: ${place} cannot be read: ${why}.`,
      'Give a file with one id per line, or - for standard input.',
    )
  })
  if (content.includes('\0'))
    throw invalidFlag(
      `--ids: ${place} is not a text file in UTF-8.`,
      'Save the sheet as "CSV UTF-8" (a workbook such as .xlsx is not read).',
    )
  const named = parsed(place, content)
  if (named.length === 0)
    throw invalidFlag(`--ids: ${place} names no conversation.`, 'Give one id per line, or agent,id.')
  return named
}

/**
 * Reads the list of `--ids`, without conversations of forgotten people: the vendor would bill them, and none would land.
 * @returns null without the flag @throws as `readIds`; HOME_UNUSABLE
 */
export async function idsToRequest(
  { ids, agent: [only] = [] }: { ids?: string; agent?: string[] },
  { home, workspaceId }: { home: string; workspaceId: string },
): Promise<NamedConversation[] | null> {
  if (ids === undefined) return null
  const [named, forgotten] = [await readIds(ids), await readForgotten(home)()]
  const isForgotten = ({ agentId, id }: NamedConversation) =>
    forgotten.hasConversation({ workspaceId, agentId: agentId ?? only ?? null, id })
  const lines = named.filter(isForgotten).map(({ line }) => line)
  if (lines.length > 0)
    log(
      `warning: --ids: ${counted(lines.length, 'conversation')} of forgotten people ${agreeing(lines.length, 'is', 'are')} not requested (line ${lines.join(', ')}).`,
    )
  return named.filter(one => !isForgotten(one))
}

/** Finds the agent of each conversation; unknown ids are missing from the result. */
export type LookUp = (ids: string[]) => Promise<{ id: string; agentId: string }[]>

const SHOWN = 5

/** Returns the first five conversations, each with its line. */
function shownOf(named: readonly NamedConversation[]): string {
  const shown = named.slice(0, SHOWN).map(({ id, line }) => `${JSON.stringify(id)} (line ${line})`)
  return `${shown.join(', ')}${named.length > SHOWN ? ` and ${named.length - SHOWN} more` : ''}`
}

const unknownIds = (unknown: readonly NamedConversation[], of: number): Error =>
  invalidFlag(
    `--ids: ${unknown.length} of ${counted(of, 'id')} ${agreeing(unknown.length, 'is', 'are')} not in the warehouse: ${shownOf(unknown)}.`,
    'Write these lines as agent,id, or give their agent with --agent.',
  )

/** Returns a warning about listed conversations that are missing after the sync; null if none is missing. */
export async function notFound(options: {
  named: readonly NamedConversation[]
  agents: readonly string[]
  lookUp: LookUp
}): Promise<string | null> {
  const { named, lookUp } = options
  const found = await lookUp([...new Set(named.map(({ id }) => id))])
  const arrived = new Set(found.map(({ id, agentId }) => JSON.stringify([agentId, id])))
  const ids = new Set(found.map(({ id }) => id))
  const [only = null] = options.agents
  const hasArrived = ({ agentId, id }: NamedConversation): boolean => {
    const agent = agentId ?? only
    return agent === null ? ids.has(id) : arrived.has(JSON.stringify([agent, id]))
  }
  const missing = named.filter(one => !hasArrived(one))
  if (missing.length === 0) return null
  return `${missing.length} of ${counted(named.length, 'requested conversation')} did not arrive: ${shownOf(missing)}. Either the vendor does not know the id for that agent, or no person has written in the conversation.`
}

/**
 * Groups the ids by agent. An id's agent comes from its line, else from a single `--agent`, else from the warehouse.
 * @throws FLAG_INVALID for ids that are not in the warehouse
 */
export async function idsByAgent(options: {
  named: readonly NamedConversation[]
  agents: readonly string[]
  lookUp: LookUp
}): Promise<IdsByAgent> {
  const { named, agents, lookUp } = options
  const alone = named.filter(({ agentId }) => agentId === null)
  const ids = alone.map(({ id }) => id)
  const [only] = agents
  const found = only === undefined && alone.length > 0 ? await lookUp(ids) : ids.map(id => ({ id, agentId: only! }))
  const known = new Set(found.map(one => one.id))
  const unknown = alone.filter(({ id }) => !known.has(id))
  if (unknown.length > 0) throw unknownIds(unknown, named.length)
  const all = [...named.flatMap(({ agentId, id }) => (agentId === null ? [] : [{ agentId, id }])), ...found]
  return [...groupedByAgent(all)]
}
