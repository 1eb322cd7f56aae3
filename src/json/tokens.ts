// The tokenizer of JSON text: finds where white space, strings and values end. It does not parse them, so that each
// reader in this folder keeps its own grammar and strictness. No message quotes the text.

const SPACE = 0x20
const [QUOTE, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5b, 0x5d, 0x7b, 0x7d]
const END_OF_PLAIN = /[,\]}\s]|$/g

const isSpace = (code: number): boolean => code === SPACE || code === 0x0a || code === 0x0d || code === 0x09

/** Returns the position of the next character that is not white space. */
export function skipSpace(text: string, at: number): number {
  let next = at
  // A regular expression took ten times as long, since there is usually no white space.
  for (let code = text.charCodeAt(next); code <= SPACE && isSpace(code); code = text.charCodeAt(next)) next += 1
  return next
}

/** Returns the position after the string that begins at `at`. @throws SyntaxError */
export function endOfString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0
    while (text[quote - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return quote + 1
  }
  throw new SyntaxError('a string without an end')
}

/** Returns the position after the value that begins at `at`, at any nesting depth. @throws SyntaxError */
export function endOfValue(text: string, at: number): number {
  if (text[at] === '"') return endOfString(text, at)
  if (text[at] !== '{' && text[at] !== '[') {
    END_OF_PLAIN.lastIndex = at
    const end = END_OF_PLAIN.exec(text)
    // `at` may lie beyond the end of the text.
    if (end === null) throw new SyntaxError('a value without an end')
    return end.index
  }
  let depth = 0
  for (let next = at; next < text.length; ) {
    const code = text.charCodeAt(next)
    if (code === QUOTE) {
      next = endOfString(text, next)
      continue
    }
    next += 1
    if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth -= 1
    if (depth === 0) return next
  }
  throw new SyntaxError('a value without an end')
}
