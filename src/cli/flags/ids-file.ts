// Conversations named one by one: from a file or standard input, each with its agent where that is said.
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { SyncFlags } from './sync-flags.ts'
import { invalidFlag } from './values.ts'

export interface NamedConversation {
  /** Null where the line names the conversation alone. */
  agentId: string | null
  id: string
}

/** Reads `agent,id` or `id` lines; blank lines and lines that begin with # say nothing. */
export function parseIds(content: string): NamedConversation[] {
  return content
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => {
      const comma = line.indexOf(',')
      if (comma < 0) return { agentId: null, id: line }
      return { agentId: line.slice(0, comma).trim() || null, id: line.slice(comma + 1).trim() }
    })
    .filter(named => named.id !== '')
}

/** Which flag names the file. */
export type IdsFlag = '--ids' | '--refresh'

/** @throws FLAG_INVALID where the file cannot be read, or names no conversation */
async function readIds(flag: IdsFlag, file: string): Promise<NamedConversation[]> {
  const place = file === '-' ? 'Standard input' : file
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch(cause => {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (cause as Error).message
    throw invalidFlag(
      `${flag}: ${place} cannot be read: ${why}.`,
      'Give a file with one id a line, or - for standard input.',
    )
  })
  const named = parseIds(content)
  if (named.length === 0)
    throw invalidFlag(`${flag}: ${place} names no conversation.`, 'Give one id a line, or agent,id.')
  return named
}

/** The conversations that the flags name one by one; null where they name none. @throws FLAG_INVALID */
export async function namedBy({
  ids,
  refresh,
}: Pick<SyncFlags, 'ids' | 'refresh'>): Promise<NamedConversation[] | null> {
  if (ids !== undefined) return readIds('--ids', ids)
  return refresh && 'file' in refresh ? readIds('--refresh', refresh.file) : null
}

/** Whose conversations these are; ids that are not known are absent. */
export type LookUp = (ids: string[]) => Promise<{ id: string; agentId: string }[]>

const SHOWN = 5

/** Unknown ids, the first few of them. */
function unknownIds(flag: IdsFlag, unknown: readonly string[], of: number): Error {
  const shown = unknown.slice(0, SHOWN).join(', ')
  const more = unknown.length > SHOWN ? ` and ${unknown.length - SHOWN} more` : ''
  return invalidFlag(
    `${flag}: of ${of} ids, ${unknown.length} belong to no conversation that is in the warehouse: ${shown}${more}.`,
    'Write such lines as agent,id, or say with --agent whose they are.',
  )
}

/**
 * The ids by agent: as their lines say, else of the one agent that was chosen, else as the warehouse knows them.
 * @throws FLAG_INVALID for ids that nobody knows
 */
export async function idsByAgent(options: {
  flag: IdsFlag
  named: readonly NamedConversation[]
  agents: readonly string[]
  lookUp: LookUp
}): Promise<Record<string, string[]>> {
  const { flag, named, agents, lookUp } = options
  const alone = named.flatMap(({ agentId, id }) => (agentId === null ? [id] : []))
  const [only] = agents
  const found = only === undefined && alone.length > 0 ? await lookUp(alone) : alone.map(id => ({ id, agentId: only! }))
  const known = new Set(found.map(one => one.id))
  const unknown = alone.filter(id => !known.has(id))
  if (unknown.length > 0) throw unknownIds(flag, unknown, named.length)
  const all = [...named.flatMap(({ agentId, id }) => (agentId === null ? [] : [{ agentId, id }])), ...found]
  const byAgent = new Map<string, Set<string>>()
  for (const { agentId, id } of all) byAgent.set(agentId, (byAgent.get(agentId) ?? new Set()).add(id))
  return Object.fromEntries([...byAgent].map(([agentId, ids]) => [agentId, [...ids]]))
}
