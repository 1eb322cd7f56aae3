// Masks the API token if the vendor, or a proxy in front of it, echoes the request (ADR 11). The token is masked wherever it appears
// plain, escaped for URLs, JSON or HTML, in base64 or in hex. A failed answer that contains it in another encoding is not kept.
import { isBinary } from '../../files/content-encoding.ts'
import { base64Of, writtenForms } from './redaction.ts'
import { MASK } from './secret-values.ts'

/** False for short tokens, which may be words in the data, and for digits, which may be numbers. */
const isMaskable = (token: string): boolean => token.length >= 16 && /\D/.test(token)

interface Patterns {
  /** The token's forms in JSON, in JSON inside a JSON string, and in hex. Searching a page for them costs a thousandth of parsing it. */
  plain: readonly string[]
  /** Forms in which a token may begin at the end of a truncated text. */
  forms: readonly string[]
  /** Matches the token with any of its characters escaped. */
  spelled: RegExp
}

const known = new Map<string, Patterns>()

const HTML_NAMES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt' }

const htmlOf = (character: string): string => `&${HTML_NAMES[character]};`

/** Returns .NET's escape. Go writes the same in lower case. */
const jsonOf = (character: string): string => `\\u00${character.charCodeAt(0).toString(16).toUpperCase()}`

/** Returns the token as written by serializers that escape characters special in HTML: .NET, Go, templates. */
const forHtml = (token: string): string[] => [
  token.replace(/[&<>+`]/g, jsonOf),
  token.replace(/[&<>]/g, character => jsonOf(character).toLowerCase()),
  token.replace(/[&<>]/g, htmlOf),
]

/** Returns a pattern for a character: plain, or escaped for JSON or JavaScript, a URL, or HTML. */
function spellings(character: string): string {
  const code = character.charCodeAt(0)
  const hex = code.toString(16)
  return [
    `\\\\{0,8}${character.replace(/[\^$.*+?()[\]{}|/-]/g, '\\$&')}`,
    `%(?:25){0,8}${hex}`,
    `\\\\{1,8}(?:u00|u\\{0{0,8}|x)${hex}\\}?`,
    `&(?:amp;){0,8}#(?:0{0,8}${code}|x0{0,8}${hex});?`,
    ...(character in HTML_NAMES ? [`&(?:amp;){0,8}${HTML_NAMES[character]};`] : []),
  ].join('|')
}

function patternsOf(token: string): Patterns {
  const hex = Buffer.from(token).toString('hex')
  const others = [hex, ...base64Of(token)].map(form => form.replace(/[+/]/g, '\\$&'))
  const characters = [...token].map(character => `(?:${spellings(character)})`).join('')
  const patterns = known.get(token) ?? {
    plain: [...writtenForms([token]), ...forHtml(token), hex],
    forms: [token, hex, hex.toUpperCase(), ...base64Of(token)],
    spelled: new RegExp([characters, ...others].join('|'), 'gi'),
  }
  known.set(token, patterns)
  return patterns
}

/** Masks the tokens in a usable body, and counts them; returns the same buffer if none occurs. */
export function pageWithoutToken(body: Buffer, tokens: readonly string[]): { bytes: Buffer; count: number } {
  const found = tokens.filter(token => isMaskable(token) && patternsOf(token).plain.some(form => body.includes(form)))
  if (found.length === 0) return { bytes: body, count: 0 }
  // Read as Latin-1, each byte is a character, so all other bytes stay unchanged.
  let count = 0
  const mask = () => {
    count += 1
    return MASK
  }
  const text = found.reduce((left, token) => left.replace(patternsOf(token).spelled, mask), body.toString('latin1'))
  return { bytes: Buffer.from(text, 'latin1'), count }
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

const ESCAPE = /\\u\{?0{0,8}([0-9a-f]{2})\}?|\\x([0-9a-f]{2})|%([0-9a-f]{2})|&#x0{0,8}([0-9a-f]{2});?/gi
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
/** An escape may be escaped again, as in `%252B` and `&amp;#43;`. */
const ROUNDS = 3

/** Returns a text without escapes of any kind, line breaks, blanks and NULs: an approximation for searching. */
function decoded(text: string): string {
  let left = text.replace(/[\s\0]/g, '')
  for (let round = 0; round < ROUNDS; round++)
    left = left
      .replace(ESCAPE, (_, ...codes: string[]) => String.fromCharCode(Number.parseInt(codes.find(Boolean)!, 16)))
      .replace(/&#0{0,8}(\d{2,3});?/g, (_, code: string) => String.fromCharCode(Number(code)))
      .replace(/&(amp|lt|gt|quot|apos);?/g, (_, name: string) => NAMED[name]!)
  return left.replace(/[\\\s\0]/g, '')
}
