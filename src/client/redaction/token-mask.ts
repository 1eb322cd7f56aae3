// Masks the API token where the vendor, or a proxy in front of it, echoes the request (ADR 11).
//
// A usable page is searched only for the forms that a token can have in JSON, at a thousandth of the cost of parsing. An unusable response
// may be anything: an HTML dump of headers, truncated, compressed, in UTF-16; there each character is matched in every common escaping.
import zlib, {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  type ZlibOptions,
} from 'node:zlib'
import { base64Of, writtenForms } from './redaction.ts'
import { MASK } from './secret-values.ts'

/** Pages are not searched for a short token, which may be a word in the data, nor for one of digits, which may be a number. */
const isMaskable = (token: string): boolean => token.length >= 16 && /\D/.test(token)

interface Masked {
  bytes: Buffer
  /** Number of masked occurrences. */
  count: number
}

/** Masks the tokens in a usable body; returns the same buffer where none occurs. */
export function pageWithoutToken(body: Buffer, tokens: readonly string[]): Masked {
  const isThere = (token: string) => isMaskable(token) && patternsOf(token).plain.some(form => body.includes(form))
  return replaced(body, tokens.filter(isThere))
}

/** Masks the tokens in a text, in any escaping. */
export const textWithoutToken = (text: string, tokens: readonly string[]): string =>
  tokens.reduce((left, token) => withoutSpans(left, spansOf(left, token)), text)

/**
 * Masks the tokens in an unusable response; the result is decompressed if a compressed body contained one. `encoding`: the response's
 * `Content-Encoding`. A body that cannot be decompressed cannot be searched, so it is replaced by a line that says so.
 */
export function failedWithoutToken(
  body: Buffer,
  { tokens, encoding }: { tokens: readonly string[]; encoding: string | null },
): Buffer {
  const layers = (encoding ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(name => name !== '' && name !== 'identity')
  return masked(body, { tokens, layers, depth: 0 }).bytes
}

interface Layers {
  tokens: readonly string[]
  /** Encodings in the order in which they were applied. */
  layers: readonly string[]
  depth: number
}

const MAX_LAYERS = 3

function masked(body: Buffer, { tokens, layers, depth }: Layers): Masked {
  const encoding = layers.at(-1) ?? compressionOf(body)
  if (encoding !== null) {
    const unpacked = depth < MAX_LAYERS ? unpack(body, encoding) : null
    if (unpacked !== null) {
      const inside = masked(unpacked, { tokens, layers: layers.slice(0, -1), depth: depth + 1 })
      return inside.count > 0 ? inside : { bytes: body, count: 0 }
    }
    // A text may begin like a zlib stream, and a vendor may declare an encoding that it did not apply.
    if (encoding !== 'zlib' && !isText(body)) return { bytes: unsearched(body, encoding), count: 1 }
  }
  return replaced(body, tokens)
}

/** Masks the tokens in a body, read as Latin-1: each byte is a character, and a token's ASCII characters are the same in most encodings. */
function replaced(body: Buffer, tokens: readonly string[]): Masked {
  let [bytes, count] = [body, 0]
  for (const token of tokens) {
    const text = bytes.toString('latin1')
    const spans = spansOf(text, token)
    if (spans.length > 0) bytes = Buffer.from(withoutSpans(text, spans), 'latin1')
    count += spans.length
  }
  return { bytes, count }
}

/** True where the first KB contains no control bytes other than those of text. */
const isText = (body: Buffer): boolean =>
  body.subarray(0, 1_024).every(byte => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0x1b)

const unsearched = (body: Buffer, encoding: string): Buffer =>
  Buffer.from(
    `[${body.length} bytes (${encoding}) that cannot be unpacked, and so not be searched for the API token, are not kept]\n`,
  )

/** The compression of a body, recognised by its magic number. */
function compressionOf(body: Buffer): 'gzip' | 'zlib' | 'zstd' | null {
  if (body.length < 4) return null
  if (body[0] === 0x1f && body[1] === 0x8b) return 'gzip'
  if (body.readUInt32LE(0) === 0xfd2fb528) return 'zstd'
  return body[0] === 0x78 && body.readUInt16BE(0) % 31 === 0 ? 'zlib' : null
}

const MAX_UNPACKED_BYTES = 256 * 1024 * 1024

/** Z_SYNC_FLUSH: decompresses a truncated stream as far as it goes. */
const UNPACKED: ZlibOptions = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_UNPACKED_BYTES }

/** Undefined in Node 20. */
const zstd = (zlib as { zstdDecompressSync?: (body: Buffer, options: ZlibOptions) => Buffer }).zstdDecompressSync

const UNPACKERS: Record<string, ((body: Buffer) => Buffer)[]> = {
  gzip: [body => gunzipSync(body, UNPACKED)],
  zlib: [body => inflateSync(body, UNPACKED)],
  // Servers send two formats as `deflate`: with and without the zlib header.
  deflate: [body => inflateSync(body, UNPACKED), body => inflateRawSync(body, UNPACKED)],
  br: [body => brotliDecompressSync(body, { ...UNPACKED, finishFlush: constants.BROTLI_OPERATION_FLUSH })],
  zstd: zstd === undefined ? [] : [body => zstd(body, { maxOutputLength: MAX_UNPACKED_BYTES })],
}

/** Decompresses a body; null where that fails. */
function unpack(body: Buffer, encoding: string): Buffer | null {
  for (const unpacker of UNPACKERS[encoding === 'x-gzip' ? 'gzip' : encoding] ?? []) {
    try {
      return unpacker(body)
    } catch {
      // Damaged, too large, or another format.
    }
  }
  return null
}

interface Span {
  start: number
  end: number
}

/** Replaces each span by the mask. */
function withoutSpans(text: string, spans: readonly Span[]): string {
  const kept = [...spans, { start: text.length, end: text.length }].map(({ start }, index) =>
    text.slice(spans[index - 1]?.end ?? 0, start),
  )
  return kept.join(MASK)
}

/** All occurrences of the token, in order, including a prefix of the token at the end of the text. */
function spansOf(text: string, token: string): Span[] {
  const { beginning, forms } = patternsOf(token)
  const spans: Span[] = []
  beginning.lastIndex = 0
  for (let found = beginning.exec(text); found !== null; found = beginning.exec(text)) {
    const start = found.index
    const end = Math.max(...forms.map(form => endOf(text, start, form)))
    if (end > start) spans.push({ start, end })
    beginning.lastIndex = Math.max(end, start + 1)
  }
  return spans
}

/** A truncated token at the end of the text is masked if it has at least this many characters; a truncated escape sequence may follow it. */
const MIN_PREFIX_CHARS = 4
const REST_OF_ESCAPE = /^[\\%&=#A-Za-z0-9;{\r\n]{0,9}$/

/** End of the occurrence of `form` that starts at `start`, or -1. Follows all possible readings of the text in parallel. */
function endOf(text: string, start: number, form: string): number {
  let places = new Set([start])
  let ends: number[] = []
  for (const [index, character] of [...form].entries()) {
    ends = [...places].flatMap(place => endsOf(text, place, character))
    if (ends.length === 0) {
      const rest = Math.max(...places)
      return index >= MIN_PREFIX_CHARS && REST_OF_ESCAPE.test(text.slice(rest, rest + 10)) ? text.length : -1
    }
    places = new Set(ends.flatMap(end => [end, matchEnd(GAP, text, end)]))
  }
  return Math.min(...ends)
}

function endsOf(text: string, place: number, character: string): number[] {
  const ends = spellingPatterns(character)
    .map(way => matchEnd(way, text, place))
    .filter(end => end > place)
  // Backslashes may be escaped repeatedly, so any backslash in the sequence may be the last one that belongs to the token.
  return character === '\\' ? ends.flatMap(end => Array.from({ length: end - place }, (_, back) => end - back)) : ends
}

/** End of the match of `pattern` (sticky) at `place`; -1 where it does not match there. */
function matchEnd(pattern: RegExp, text: string, place: number): number {
  pattern.lastIndex = place
  return pattern.test(text) ? pattern.lastIndex : -1
}

/** What may stand between two characters of a token: the zero byte of UTF-16, a line fold, or a chunk header. */
const BETWEEN = '\\0?(?:=?\\r?\\n(?:[0-9A-Fa-f]{1,8}\\r?\\n|[ \\t]+)?)?'
const GAP = new RegExp(BETWEEN, 'y')

const NAMED: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

const anyCase = (hex: string): string =>
  hex.replace(/[a-f]/gi, letter => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)

/** Patterns for one character: plain, escaped for JSON or JavaScript, URL-encoded, as an HTML entity, quoted-printable. */
function spellingsOf(character: string): string[] {
  const code = character.charCodeAt(0)
  const hex = anyCase(code.toString(16).padStart(2, '0'))
  const named = NAMED[character]
  return [
    character === '\\' ? '\\\\+' : `\\\\*${character.replace(/[\^$.*+?()[\]{}|/-]/g, '\\$&')}`,
    `%(?:25)*${hex}`,
    `\\\\+(?:u00|u\\{0*|x)${hex}\\}?`,
    `&(?:amp;)*#(?:0*${code}|[xX]0*${hex});?`,
    ...(named === undefined ? [] : [`&(?:amp;)*${named};?`]),
    `=${hex}`,
  ]
}

const spellings = new Map<string, RegExp[]>()

/** The patterns of one character, cached: tokens consist of printable ASCII, so there are few. */
function spellingPatterns(character: string): RegExp[] {
  const known = spellings.get(character) ?? spellingsOf(character).map(writing => new RegExp(writing, 'y'))
  spellings.set(character, known)
  return known
}

interface Patterns {
  /** The token's forms in JSON, and in JSON inside a JSON string. */
  plain: string[]
  forms: string[]
  /** The first two characters of each form. */
  beginning: RegExp
}

const patterns = new Map<string, Patterns>()

function patternsOf(token: string): Patterns {
  const known = patterns.get(token)
  if (known) return known
  const hex = Buffer.from(token).toString('hex')
  const forms = [token, hex, hex.toUpperCase(), ...base64Of(token)]
  const first = (form: string) => [...form].slice(0, 2).map(character => `(?:${spellingsOf(character).join('|')})`)
  const beginning = new RegExp(forms.map(form => first(form).join(BETWEEN)).join('|'), 'g')
  const made = { plain: writtenForms([token]), forms, beginning }
  patterns.set(token, made)
  return made
}
