// Reads the list of conversations that `--ids` or `--refresh` names: one id per line, `agent,id` lines, or a CSV file with a header, as
// spreadsheets export it. If a line names no agent, the agent is looked up in the warehouse.
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { groupedByAgent, type IdsByAgent } from '../../core/planning/id-windows.ts'
import { counted } from '../../core/words.ts'
import type { SyncFlags } from './sync-flags.ts'
import { invalidFlag } from './values.ts'

export interface NamedConversation {
  /** Null if the line names no agent. */
  agentId: string | null
  id: string
  /** Line of the file, from 1. */
  line: number
}

interface Cell {
  text: string
  /** A quoted cell counts as content even if it is empty. */
  isQuoted: boolean
}

interface Line {
  number: number
  cells: Cell[]
}

const invalid = (line: number, why: string): ConvohouseError =>
  new ConvohouseError('FLAG_INVALID', {
    what: `line ${line} ${why}.`,
    hint: 'Give one id per line, agent,id lines, or a CSV file with the columns conversation_id and agent_id.',
    facts: { line },
  })

const REMARK = / *#[^\r\n]*/y
const QUOTED = / *"((?:[^"]|"")*)" */y
const LINE_END = /\r\n|\r|\n/y

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** Lines of a CSV file (RFC 4180, with quoted line breaks), without blank lines and comments. */
function linesOf(content: string, separator: string): Line[] {
  const plain = new RegExp(`[^${separator}\\r\\n]*`, 'y')
  const lines: Line[] = []
  let at = 0
  let number = 1
  while (at < content.length) {
    const line: Line = { number, cells: [] }
    at += matchAt(REMARK, content, at)?.[0].length ?? 0
    for (let isMore = true; isMore; ) {
      const quoted = matchAt(QUOTED, content, at)
      const whole = quoted?.[0] ?? matchAt(plain, content, at)![0]
      if (!quoted && whole.trimStart().startsWith('"')) throw invalid(line.number, 'has an unclosed quote')
      line.cells.push({ text: quoted ? quoted[1]!.replaceAll('""', '"') : whole.trim(), isQuoted: quoted !== null })
      at += whole.length
      number += whole.split('\n').length - 1
      isMore = content[at] === separator
      if (isMore) at += 1
    }
    const end = matchAt(LINE_END, content, at)
    if (end === null && at < content.length) throw invalid(line.number, 'has text after a closing quote')
    at += end?.[0].length ?? 0
    number += 1
    if (line.cells.some(({ text, isQuoted }) => isQuoted || text !== '')) lines.push(line)
  }
  return lines
}

/** Column names, compared without case, blanks, `_` and `-`. */
const AGENT_COLUMN = /^(?:agent|agentid)$/
const ID_COLUMN = /^(?:id|ids|conversation|conversations|conversationid|conversationids|convo|convoid|convoids)$/

const columnName = ({ text }: Cell): string => text.toLowerCase().replace(/[\s_-]/g, '')

interface Columns {
  agent: number
  id: number
}

/** The positions of the columns; null if the first line is not a header, that is, names no id column. */
function headerOf(first: Line | undefined): Columns | null {
  if (first === undefined) return null
  const names = first.cells.map(columnName)
  const [agent, id] = [names.findIndex(name => AGENT_COLUMN.test(name)), names.findIndex(name => ID_COLUMN.test(name))]
  return id >= 0 ? { agent, id } : null
}

/**
 * The separator of the cells: comma, or `;` or tab, which some locales export. `;` and tab count only if the first line has no comma, and
 * if every line contains them or the first line is a header.
 */
function separatorOf(content: string): string {
  const lines = content.split(/\r?\n/).filter(line => line.trim() !== '' && !line.trim().startsWith('#'))
  const first = lines[0] ?? ''
  const separator = [';', '\t'].find(each => first.includes(each)) ?? ','
  const isHeader = () => headerOf(linesOf(first, separator)[0]) !== null
  return !first.includes(',') && (lines.every(line => line.includes(separator)) || isHeader()) ? separator : ','
}

function namedIn({ number, cells }: Line, columns: Columns | null): NamedConversation {
  const texts = cells.map(({ text }) => text)
  if (columns) {
    const id = texts[columns.id] ?? ''
    if (id === '') throw invalid(number, 'names no conversation')
    return { agentId: texts[columns.agent] || null, id, line: number }
  }
  while (texts.length > 2 && texts.at(-1) === '') texts.pop()
  if (texts.length > 2) throw invalid(number, `has ${texts.length} columns but no header that names them`)
  const [agentId, id] = texts.length === 2 ? texts : [null, texts[0]]
  if (!id) throw invalid(number, 'names no conversation')
  return { agentId: agentId || null, id, line: number }
}

/**
 * Parses a list. A byte order mark, blank lines, and lines that begin with # are ignored.
 * @throws FLAG_INVALID that names the line
 */
export function parseIds(content: string): NamedConversation[] {
  const text = content.replace(/^\uFEFF/, '')
  // Excel may declare the separator in a first line `sep=;`. It becomes a comment, so that line numbers stay the same.
  const declared = /^sep=(.)\r?\n/i.exec(text)
  const rest = declared ? `#${text.slice(1)}` : text
  const lines = linesOf(rest, declared?.[1] ?? separatorOf(rest))
  const columns = headerOf(lines[0])
  return (columns ? lines.slice(1) : lines).map(line => namedIn(line, columns))
}

/** Decodes UTF-8, or UTF-16 with a byte order mark (Excel's "Unicode text"). */
export function decodeList(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  return new TextDecoder().decode(bytes)
}

/** The flag that names the file. */
type IdsFlag = '--ids' | '--refresh'

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
    const why =
      (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'the file does not exist' : (cause as Error).message
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

/** Finds the agent of each conversation; unknown ids are missing from the result. */
export type LookUp = (ids: string[]) => Promise<{ id: string; agentId: string }[]>

const SHOWN = 5

/** The first five, each with its line. */
function shownOf(named: readonly NamedConversation[]): string {
  const shown = named.slice(0, SHOWN).map(({ id, line }) => `${JSON.stringify(id)} (line ${line})`)
  return `${shown.join(', ')}${named.length > SHOWN ? ` and ${named.length - SHOWN} more` : ''}`
}

const unknownIds = (flag: IdsFlag, unknown: readonly NamedConversation[], of: number): Error =>
  invalidFlag(
    `${flag}: ${unknown.length} of ${counted(of, 'id')} ${unknown.length === 1 ? 'is' : 'are'} not in the warehouse: ${shownOf(unknown)}.`,
    'Write these lines as agent,id, or give their agent with --agent.',
  )

/** Adds to an AGENT_UNKNOWN error the lines of the list that name the agent; returns other errors unchanged. */
export function withLines(error: unknown, named: readonly NamedConversation[] | null): unknown {
  if (!isCode(error, 'AGENT_UNKNOWN')) return error
  const lines = (named ?? []).filter(({ agentId }) => agentId === error.facts.agentId).map(({ line }) => line)
  if (lines.length === 0) return error
  const [first, ...more] = lines
  return new ConvohouseError('AGENT_UNKNOWN', {
    what: `${error.message} Line ${first} names it${more.length > 0 ? ` (and ${counted(more.length, 'other line')})` : ''}.`,
    ...(error.hint !== undefined && { hint: error.hint }),
    facts: { ...error.facts, line: first! },
    cause: error,
  })
}

/** A warning about listed conversations that are missing after the sync; null if none is missing. */
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
  flag: IdsFlag
  named: readonly NamedConversation[]
  agents: readonly string[]
  lookUp: LookUp
}): Promise<IdsByAgent> {
  const { flag, named, agents, lookUp } = options
  const alone = named.filter(({ agentId }) => agentId === null)
  const ids = alone.map(({ id }) => id)
  const [only] = agents
  const found = only === undefined && alone.length > 0 ? await lookUp(ids) : ids.map(id => ({ id, agentId: only! }))
  const known = new Set(found.map(one => one.id))
  const unknown = alone.filter(({ id }) => !known.has(id))
  if (unknown.length > 0) throw unknownIds(flag, unknown, named.length)
  const all = [...named.flatMap(({ agentId, id }) => (agentId === null ? [] : [{ agentId, id }])), ...found]
  return [...groupedByAgent(all)]
}
