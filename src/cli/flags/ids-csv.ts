// Parses a list of conversations: one id per line, `agent,id` lines, or a CSV file with a header, as spreadsheets export it.
import { ConvohouseError } from '../../core/errors.ts'

export interface NamedConversation {
  /** Null if the line has only the conversation. */
  agentId: string | null
  id: string
  /** Line of the file, from 1. */
  line: number
}

interface Cell {
  text: string
  /** A quoted empty cell counts as content. */
  isQuoted: boolean
}

interface Line {
  number: number
  cells: Cell[]
}

const invalid = (line: number, why: string): ConvohouseError =>
  new ConvohouseError('FLAG_INVALID', {
    what: `line ${line} ${why}.`,
    hint: 'Give one id per line, or agent,id; or a CSV file whose header names conversation_id and agent_id.',
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

/** Null if the first line is no header. A header needs an id column. */
function headerOf(first: Line | undefined): Columns | null {
  if (first === undefined) return null
  const names = first.cells.map(columnName)
  const [agent, id] = [names.findIndex(name => AGENT_COLUMN.test(name)), names.findIndex(name => ID_COLUMN.test(name))]
  return id >= 0 ? { agent, id } : null
}

/** Some locales export `;` or tabs: chosen if the header or every line has it, and the first line has no comma. */
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
  // Excel's own separator line.
  const told = /^sep=(.)\r?\n/i.exec(text)
  const rest = told ? `#${text.slice(1)}` : text
  const lines = linesOf(rest, told?.[1] ?? separatorOf(rest))
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
