// Masks the API token if the vendor, or a proxy in front of it, echoes the request (ADR 11). The token is masked wherever it appears
// plain, escaped for URLs, JSON or HTML, in base64 or in hex. A failed answer that contains it in another encoding is not kept.
import { isBinary } from '../../files/content-encoding.ts'
import { base64Of } from './redaction.ts'
import { MASK } from './secret-values.ts'

/** False for short tokens, which may be words in the data, and for digits, which may be numbers. */
const isMaskable = (token: string): boolean => token.length >= 16 && /\D/.test(token)

interface Patterns {
  /** The token itself, in hex and in base64. */
  forms: readonly string[]
  /** The same forms as `decoded` leaves them, since a token may contain escapes itself. */
  decoded: ReadonlySet<string>
  /** Matches each form, and the token with any of its characters escaped once, or several times in the same way. */
  spelled: RegExp
}

const known = new Map<string, Patterns>()
const MAX_KNOWN = 32

/** Names of characters in HTML, other than letters and digits. */
const HTML_NAMES: Readonly<Record<string, string>> = {
  ...{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos', '+': 'plus', '/': 'sol', '=': 'equals' },
  ...{ _: 'lowbar', '.': 'period', ':': 'colon', '-': 'dash', '@': 'commat', '!': 'excl', $: 'dollar', '*': 'ast' },
}

const literal = (text: string): string => text.replace(/[\^$.*+?()[\]{}|/\\-]/g, '\\$&')

/** Returns a pattern for an escaped character: for JSON or JavaScript, a URL, or HTML. */
function escapes(character: string): string {
  const code = character.charCodeAt(0)
  const hex = code.toString(16)
  return [
    `%(?:25){0,8}${hex}`,
    `\\\\{1,8}(?:u00${hex}|u\\{0{0,8}${hex}\\}|x${hex})`,
    `&(?:amp;){0,8}#(?:0{0,8}${code}|x0{0,8}${hex});?`,
    ...(character in HTML_NAMES ? [`&(?:amp;){0,8}${HTML_NAMES[character]};`] : []),
    ...(/[\w\\]/.test(character) ? [] : [`\\\\{1,8}${literal(character)}`]),
  ].join('|')
}

const spelling = (form: string): string =>
  [...form].map(character => `(?:\\\\{0,8}${literal(character)}|${escapes(character)})`).join('')

function patternsOf(token: string): Patterns {
  const found = known.get(token)
  if (found !== undefined) return found
  // A process has few tokens, and a compiled pattern takes a hundred kilobytes.
  if (known.size >= MAX_KNOWN) known.clear()
  const hex = Buffer.from(token).toString('hex')
  const own = [token, hex, ...base64Of(token)]
  const patterns = {
    forms: [...own, hex.toUpperCase()],
    decoded: new Set([...own, hex.toUpperCase()].map(decoded)),
    spelled: new RegExp(
      [spelling(token), ...own.slice(1).map(form => `${form.startsWith('/') ? '\\\\{0,8}' : ''}${literal(form)}`)].join(
        '|',
      ),
      'gi',
    ),
  }
  known.set(token, patterns)
  return patterns
}

/** True if a text contains the token, however escaped. */
function holds(text: string, token: string): boolean {
  const patterns = patternsOf(token)
  if (patterns.forms.some(form => text.includes(form))) return true
  const plain = decoded(text)
  return [...patterns.decoded].some(form => plain.includes(form))
}

/**
 * Masks the tokens in a usable body, and counts them; returns the same buffer if none occurs. A text in which a token stays,
 * because its escapes are escaped in another way, is masked completely.
 */
export function pageWithoutToken(body: Buffer, tokens: readonly string[]): { bytes: Buffer; count: number } {
  // Read as Latin-1, each byte is a character, so all other bytes stay unchanged.
  const page = body.toString('latin1')
  const found = tokens.filter(token => isMaskable(token) && holds(page, token))
  if (found.length === 0) return { bytes: body, count: 0 }
  let count = 0
  const mask = () => {
    count += 1
    return MASK
  }
  const text = found.reduce((left, token) => left.replace(patternsOf(token).spelled, mask), page)
  if (!found.some(token => holds(text, token))) return { bytes: Buffer.from(text, 'latin1'), count }
  // A string of JSON, with its quotes, or a word of another format.
  const whole = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"]+/gs, one => {
    if (!found.some(token => holds(one, token))) return one
    return one.startsWith('"') ? `"${mask()}"` : mask()
  })
  return { bytes: Buffer.from(whole, 'latin1'), count }
}

/** Masks the tokens in a text; a text that contains one in an unusual encoding is masked completely. */
export const textWithoutToken = (text: string, tokens: readonly string[]): string => masked(text, tokens) ?? MASK

/**
 * Masks the tokens in an unusable response. `encoding`: the coding that is left in it. A response that cannot be searched,
 * because it is compressed or binary, or contains a token in an unusual encoding, is replaced by a line that says so.
 */
export function failedWithoutToken(
  body: Buffer,
  { tokens, encoding }: { tokens: readonly string[]; encoding: string | null },
): Buffer {
  const text = body.toString('latin1')
  const isText = /^(?:identity)?$/i.test(encoding?.trim() ?? '') && !isBinary(body)
  const kept = isText ? masked(text, tokens) : null
  if (kept === null)
    return Buffer.from(`[${body.length} bytes that cannot be searched for the API token are not kept]\n`)
  return kept === text ? body : Buffer.from(kept, 'latin1')
}

/** A shorter beginning of a token at the end of a text is no secret. */
const MIN_PREFIX_CHARS = 4

/** Returns the text without the tokens, and without the beginning of one at its end; null if a token is left in another encoding. */
function masked(text: string, tokens: readonly string[]): string | null {
  const forms = tokens.flatMap(token => patternsOf(token).forms)
  const whole = tokens.reduce((left, token) => left.replace(patternsOf(token).spelled, MASK), text)
  const cut = Math.max(0, ...forms.map(form => prefixAtEnd(whole, form)))
  const left = cut === 0 ? whole : `${whole.slice(0, -cut)}${MASK}`
  const plain = decoded(left)
  const end = plain.replace(REST_OF_ESCAPE, '')
  const isHidden = forms.map(decoded).some(form => plain.includes(form) || prefixAtEnd(end, form) > 0)
  return isHidden ? null : left
}

/** Returns the number of characters of `form` with which a truncated text ends. */
function prefixAtEnd(text: string, form: string): number {
  for (let length = form.length - 1; length >= MIN_PREFIX_CHARS; length--)
    if (text.endsWith(form.slice(0, length))) return length
  return 0
}

/** A text may also be truncated inside an escape. */
const REST_OF_ESCAPE = /(?:%|&#?)[a-z0-9]{0,5}$|(?:u\{?|x)[0-9a-f]{0,4}$/i

const ESCAPE =
  /\\{1,8}u00([0-9a-f]{2})|\\{1,8}u\{0{0,8}([0-9a-f]{2})\}|\\{1,8}x([0-9a-f]{2})|%([0-9a-f]{2})|&#x0{0,8}([0-9a-f]{2});?/gi
const NAMED: ReadonlyMap<string, string> = new Map(Object.entries(HTML_NAMES).map(([one, name]) => [name, one]))
const NAMES = new RegExp(`&(${[...NAMED.keys()].join('|')});?`, 'g')
/** An escape may be escaped again, as in `%252B` and `&amp;#43;`. */
const MAX_ROUNDS = 8

function decodedOnce(text: string): string {
  return text
    .replace(ESCAPE, (_, ...codes: string[]) => String.fromCharCode(Number.parseInt(codes.find(Boolean)!, 16)))
    .replace(/&#0{0,8}(\d{2,3});?/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replace(NAMES, (_, name: string) => NAMED.get(name)!)
}

/** Returns a text without escapes of any kind, line breaks, blanks and NULs: an approximation for searching. */
function decoded(text: string): string {
  let left = text.replace(/[\s\0]/g, '')
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = left
    left = decodedOnce(before)
    if (left === before) break
  }
  return left.replace(/[\\\s\0]/g, '')
}
