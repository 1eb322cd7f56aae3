// Conversations that `--ids` or `--refresh` names, from a file or standard input, and the agents that they belong to.
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { counted } from '../../core/words.ts'
import { decodeList, type NamedConversation, parseIds } from './ids-csv.ts'
import type { SyncFlags } from './sync-flags.ts'
import { invalidFlag } from './values.ts'

/** The flag that names the file. */
export type IdsFlag = '--ids' | '--refresh'

function parsed(flag: IdsFlag, place: string, content: string): NamedConversation[] {
  try {
    return parseIds(content)
  } catch (error) {
    if (!isCode(error, 'FLAG_INVALID')) throw error
    throw invalidFlag(`${flag}: ${place}, ${error.message}`, error.hint!)
  }
}

/** @throws FLAG_INVALID if the file cannot be read or names no conversation */
async function readIds(flag: IdsFlag, file: string): Promise<NamedConversation[]> {
  const place = file === '-' ? 'Standard input' : file
  const bytes = await (file === '-' ? buffer(process.stdin) : readFile(file)).catch(cause => {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (cause as Error).message
    throw invalidFlag(
      `${flag}: ${place} cannot be read: ${why}.`,
      'Give a file with one id per line, or - for standard input.',
    )
  })
  const text = decodeList(bytes)
  if (text.includes('\0'))
    throw invalidFlag(
      `${flag}: ${place} is not a text file.`,
      'Save the sheet as CSV (a workbook such as .xlsx is not read).',
    )
  const named = parsed(flag, place, text)
  if (named.length === 0)
    throw invalidFlag(`${flag}: ${place} names no conversation.`, 'Give one id per line, or agent,id.')
  return named
}

/** The conversations that the flags list; null without such a flag. @throws FLAG_INVALID */
export async function namedBy({
  ids,
  refresh,
}: Pick<SyncFlags, 'ids' | 'refresh'>): Promise<NamedConversation[] | null> {
  if (ids !== undefined) return readIds('--ids', ids)
  return refresh && 'file' in refresh ? readIds('--refresh', refresh.file) : null
}

/** Finds the agents of conversations; unknown ids are absent. */
export type LookUp = (ids: string[]) => Promise<{ id: string; agentId: string }[]>

const SHOWN = 5

/** The first five, each with its line. */
function shownOf(named: readonly NamedConversation[]): string {
  const shown = named.slice(0, SHOWN).map(({ id, line }) => `${JSON.stringify(id)} (line ${line})`)
  return `${shown.join(', ')}${named.length > SHOWN ? ` and ${named.length - SHOWN} more` : ''}`
}

const unknownIds = (flag: IdsFlag, unknown: readonly NamedConversation[], of: number): Error =>
  invalidFlag(
    `${flag}: of ${counted(of, 'id')}, ${unknown.length} ${unknown.length === 1 ? 'belongs' : 'belong'} to no conversation that is in the warehouse: ${shownOf(unknown)}.`,
    'Write such lines as agent,id, or name their agent with --agent.',
  )

/** Adds the lines that name the agent to AGENT_UNKNOWN; returns other errors unchanged. */
export function withLines(error: unknown, named: readonly NamedConversation[] | null): unknown {
  if (!isCode(error, 'AGENT_UNKNOWN')) return error
  const lines = (named ?? []).filter(({ agentId }) => agentId === error.facts.agentId).map(({ line }) => line)
  if (lines.length === 0) return error
  const [first, ...more] = lines
  return new ConvohouseError('AGENT_UNKNOWN', {
    what: `${error.message} Line ${first} names it${more.length > 0 ? `, and ${more.length} more` : ''}.`,
    ...(error.hint !== undefined && { hint: error.hint }),
    facts: { ...error.facts, line: first! },
    cause: error,
  })
}

/** A warning for listed conversations that are missing after the sync; null if none is. */
export async function notFound(options: {
  named: readonly NamedConversation[]
  agents: readonly string[]
  lookUp: LookUp
}): Promise<string | null> {
  const { named, lookUp } = options
  const found = await lookUp([...new Set(named.map(({ id }) => id))])
  const there = new Set(found.map(({ id, agentId }) => JSON.stringify([agentId, id])))
  const ids = new Set(found.map(({ id }) => id))
  const [only = null] = options.agents
  const isThere = ({ agentId, id }: NamedConversation): boolean => {
    const agent = agentId ?? only
    return agent === null ? ids.has(id) : there.has(JSON.stringify([agent, id]))
  }
  const missing = named.filter(one => !isThere(one))
  if (missing.length === 0) return null
  return `Of ${named.length} requested conversations ${missing.length} did not arrive: ${shownOf(missing)}. The vendor knows no such id for that agent, or no person has written in the conversation.`
}

/**
 * The ids by agent: from their lines, else the one chosen agent, else from the warehouse.
 * @throws FLAG_INVALID for ids that are not in the warehouse
 */
export async function idsByAgent(options: {
  flag: IdsFlag
  named: readonly NamedConversation[]
  agents: readonly string[]
  lookUp: LookUp
}): Promise<Record<string, string[]>> {
  const { flag, named, agents, lookUp } = options
  const alone = named.filter(({ agentId }) => agentId === null)
  const ids = alone.map(({ id }) => id)
  const [only] = agents
  const found = only === undefined && alone.length > 0 ? await lookUp(ids) : ids.map(id => ({ id, agentId: only! }))
  const known = new Set(found.map(one => one.id))
  const unknown = alone.filter(({ id }) => !known.has(id))
  if (unknown.length > 0) throw unknownIds(flag, unknown, named.length)
  const all = [...named.flatMap(({ agentId, id }) => (agentId === null ? [] : [{ agentId, id }])), ...found]
  const byAgent = new Map<string, Set<string>>()
  for (const { agentId, id } of all) byAgent.set(agentId, (byAgent.get(agentId) ?? new Set()).add(id))
  return Object.fromEntries([...byAgent].map(([agentId, ids]) => [agentId, [...ids]]))
}
