// Edits SQL as text: removes trailing semicolons, so that the statement can be wrapped. The result is then checked
// completely and is the text that runs, so a mistake here can make SQL fail but cannot bypass the guard.

/** One token: white space, a comment, a text in any of DuckDB's quotes, a word, or any other single character. */
const TOKEN =
  /(?<space>\s+|--[^\n\r]*|\/\*)|(?<quoted>[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?<tag>[A-Za-z_]*)\$[\s\S]*?\$\k<tag>\$)|(?<word>[\p{L}_][\p{L}\p{N}_$]*)|(?<other>[\s\S])/uy

interface Token {
  kind: 'space' | 'word' | 'other'
  text: string
  end: number
}

/** Returns the SQL without the semicolons, spaces and comments around it. */
export function trimStatement(sql: string): string {
  let from: number | undefined
  let to = 0
  for (const token of tokens(sql)) {
    if (token.kind === 'space' || token.text === ';') continue
    from ??= token.end - token.text.length
    to = token.end
  }
  return sql.slice(from ?? 0, to)
}

/** True if the SQL contains the word outside of texts and quoted names. `word` is in capitals. */
export function hasWord(sql: string, word: string): boolean {
  for (const token of tokens(sql)) if (token.kind === 'word' && token.text.toUpperCase() === word) return true
  return false
}

/** Returns the first word in capitals, which identifies a refused statement. */
export function firstWord(sql: string): string | undefined {
  for (const token of tokens(sql)) {
    if (token.kind !== 'space' && token.text !== '(')
      return token.kind === 'word' ? token.text.toUpperCase() : undefined
  }
  return undefined
}

/** Matches the beginning of a text in quotes that is not closed: a closed one is a token of its own. */
const OPEN_QUOTE = /^(['"]|\$[A-Za-z_]*\$)/

/** Returns the statements that a semicolon ends, and the text after the last of them; none if that has only spaces and closed comments. */
export function splitStatements(sql: string): { statements: string[]; rest: string } {
  const statements: string[] = []
  let from = 0
  for (const { kind, text, end } of tokens(sql)) {
    const isOpen = text.length === 1 && OPEN_QUOTE.test(sql.slice(end - 1))
    if (kind === 'other' && isOpen) break
    if (text !== ';') continue
    statements.push(sql.slice(from, end))
    from = end
  }
  const rest = sql.slice(from)
  // In an open comment, a semicolon ends nothing.
  const isBegun = trimStatement(rest) !== '' || [...tokens(`${rest};`)].at(-1)!.text !== ';'
  return { statements: statements.filter(one => trimStatement(one) !== ''), rest: isBegun ? rest : '' }
}

/** Returns the statement on one line; null if one of its texts contains a line break. */
export function onOneLine(sql: string): string | null {
  let line = ''
  for (const { kind, text } of tokens(sql.trim())) {
    const isComment = kind === 'space' && text.startsWith('--')
    line += isComment ? `/*${text.slice(2)} */` : kind === 'space' ? text.replace(/\s*[\r\n]\s*/g, ' ') : text
  }
  return /[\r\n]/.test(line) ? null : line
}

const OUTLINE_CHARS = 300

/** Returns the SQL for logs: its beginning without literals, which may contain personal data. */
export function outlineOf(sql: string): string {
  let outline = ''
  for (const token of tokens(sql.slice(0, 10 * OUTLINE_CHARS))) {
    if (outline.length > OUTLINE_CHARS) return `${outline.slice(0, OUTLINE_CHARS)} …`
    if (/^\s*(--|\/\*)/.test(token.text)) continue
    if (token.kind === 'space') outline += ' '
    else if (/^([eE]?'|"|\$.*\$)/s.test(token.text)) outline += '?'
    else outline += /^\d$/.test(token.text) ? (outline.endsWith('?') ? '' : '?') : token.text
  }
  return outline.replace(/\s+/g, ' ').trim()
}

function* tokens(sql: string): Generator<Token> {
  for (let at = 0; at < sql.length; ) {
    TOKEN.lastIndex = at
    const groups = TOKEN.exec(sql)!.groups!
    const comment = groups.space === '/*'
    const end = comment ? blockCommentEnd(sql, at) : TOKEN.lastIndex
    const kind = groups.space ? 'space' : groups.word ? 'word' : 'other'
    yield { kind, text: sql.slice(at, end), end }
    at = end
  }
}

/** Block comments nest, as in PostgreSQL; an unclosed one extends to the end. */
function blockCommentEnd(sql: string, start: number): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = start
  let depth = 0
  for (let mark = marks.exec(sql); mark; mark = marks.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return marks.lastIndex
  }
  return sql.length
}
