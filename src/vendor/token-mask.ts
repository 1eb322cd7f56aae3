// Masks the API token in what a vendor, or a proxy in front of it, echoes.
//
// A page that can be used is only searched for the forms that JSON has of a token, which takes a thousandth of what parsing takes. What
// cannot be used may be anything: a dump of headers in HTML, cut off, packed, in UTF-16. There each character may be written in
// any way that some escaping has for it.
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

/** A shorter one may be a word of a person, and one of digits a number: pages with such land as they came. */
const isMaskable = (token: string): boolean => token.length >= 16 && /\D/.test(token)

export interface Masked {
  bytes: Buffer
  /** How often it stood there. */
  count: number
}

/** A body that can be used, without the token; the same bytes where it is not in them. */
export function pageWithoutToken(body: Buffer, token: string): Masked {
  const isThere = isMaskable(token) && patternsOf(token).plain.some(form => body.includes(form))
  return isThere ? replaced(body, token) : { bytes: body, count: 0 }
}

/** The text without the token, however it is written there. */
export const textWithoutToken = (text: string, token: string): string => withoutSpans(text, spansOf(text, token))

/**
 * What came instead of an answer, fit to be kept: masked, and unpacked where the token was inside. `encoding` is its `Content-Encoding`.
 * What cannot be unpacked cannot be searched: a line that says so stands in its place.
 */
export function failedWithoutToken(
  body: Buffer,
  { token, encoding }: { token: string; encoding: string | null },
): Buffer {
  const layers = (encoding ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(name => name !== '' && name !== 'identity')
  return masked(body, { token, layers, depth: 0 }).bytes
}

interface Layers {
  token: string
  /** The first one was applied first. */
  layers: readonly string[]
  depth: number
}

const MAX_LAYERS = 3

function masked(body: Buffer, { token, layers, depth }: Layers): Masked {
  const packing = layers.at(-1) ?? compressionOf(body)
  if (packing !== null) {
    const unpacked = depth < MAX_LAYERS ? unpack(body, packing) : null
    if (unpacked !== null) {
      const inside = masked(unpacked, { token, layers: layers.slice(0, -1), depth: depth + 1 })
      return inside.count > 0 ? inside : { bytes: body, count: 0 }
    }
    // A text may begin like a stream of zlib, and a vendor may name an encoding that it has not used.
    if (packing !== 'zlib' && !isText(body)) return { bytes: unsearched(body, packing), count: 1 }
  }
  return replaced(body, token)
}

/** As Latin-1 each byte is a character, and what a token is written with is the same in most encodings. */
function replaced(body: Buffer, token: string): Masked {
  const text = body.toString('latin1')
  const spans = spansOf(text, token)
  return { bytes: spans.length === 0 ? body : Buffer.from(withoutSpans(text, spans), 'latin1'), count: spans.length }
}

/** No byte of its beginning is one that texts have none of. */
const isText = (body: Buffer): boolean =>
  body.subarray(0, 1_024).every(byte => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0x1b)

const unsearched = (body: Buffer, packing: string): Buffer =>
  Buffer.from(
    `[${body.length} bytes (${packing}) that cannot be unpacked, and so not be searched for the API token, are not kept]\n`,
  )

/** What bytes tell of their own packing. */
function compressionOf(body: Buffer): 'gzip' | 'zlib' | 'zstd' | null {
  if (body.length < 4) return null
  if (body[0] === 0x1f && body[1] === 0x8b) return 'gzip'
  if (body.readUInt32LE(0) === 0xfd2fb528) return 'zstd'
  return body[0] === 0x78 && body.readUInt16BE(0) % 31 === 0 ? 'zlib' : null
}

const MAX_UNPACKED_BYTES = 256 * 1024 * 1024

/** A connection that broke leaves a beginning, which is unpacked as far as it goes. */
const UNPACKED: ZlibOptions = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_UNPACKED_BYTES }

/** Node 20 has none. */
const zstd = (zlib as { zstdDecompressSync?: (body: Buffer, options: ZlibOptions) => Buffer }).zstdDecompressSync

const UNPACKERS: Record<string, ((body: Buffer) => Buffer)[]> = {
  gzip: [body => gunzipSync(body, UNPACKED)],
  zlib: [body => inflateSync(body, UNPACKED)],
  // Both are sent under that name.
  deflate: [body => inflateSync(body, UNPACKED), body => inflateRawSync(body, UNPACKED)],
  br: [body => brotliDecompressSync(body, { ...UNPACKED, finishFlush: constants.BROTLI_OPERATION_FLUSH })],
  zstd: zstd === undefined ? [] : [body => zstd(body, { maxOutputLength: MAX_UNPACKED_BYTES })],
}

/** Null where it cannot be unpacked. */
function unpack(body: Buffer, packing: string): Buffer | null {
  for (const unpacker of UNPACKERS[packing === 'x-gzip' ? 'gzip' : packing] ?? []) {
    try {
      return unpacker(body)
    } catch {
      // Damaged, too large, or something else.
    }
  }
  return null
}

interface Span {
  start: number
  end: number
}

/** Each span is masked. */
function withoutSpans(text: string, spans: readonly Span[]): string {
  const kept = [...spans, { start: text.length, end: text.length }].map(({ start }, index) =>
    text.slice(spans[index - 1]?.end ?? 0, start),
  )
  return kept.join(MASK)
}

/** Every place of the token, in its order; a beginning of it at the end of the text, too. */
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

/** A text that ends inside of the token keeps fewer characters of it than these, and an escape that was cut off. */
const MIN_PREFIX_CHARS = 4
const REST_OF_ESCAPE = /^[\\%&=#A-Za-z0-9;{\r\n]{0,9}$/

/** Where the form ends that begins there; -1 where none does. All ways to read the text are followed at once. */
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
  // Escaped once or more: each backslash of them may be the last one that was meant.
  return character === '\\' ? ends.flatMap(end => Array.from({ length: end - place }, (_, back) => end - back)) : ends
}

/** `pattern` is sticky; -1 where it does not match there. */
function matchEnd(pattern: RegExp, text: string, place: number): number {
  pattern.lastIndex = place
  return pattern.test(text) ? pattern.lastIndex : -1
}

/** Between two characters: the other byte of UTF-16, a folded line, or the head of a chunk that was written out. */
const BETWEEN = '\\0?(?:=?\\r?\\n(?:[0-9A-Fa-f]{1,8}\\r?\\n|[ \\t]+)?)?'
const GAP = new RegExp(BETWEEN, 'y')

const NAMED: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

const anyCase = (hex: string): string =>
  hex.replace(/[a-f]/gi, letter => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)

/** How one character may be written: as it is, escaped for JSON or JavaScript, for an address, for HTML, for mail. */
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

/** A token has printable ASCII alone: there are few. */
function spellingPatterns(character: string): RegExp[] {
  const known = spellings.get(character) ?? spellingsOf(character).map(writing => new RegExp(writing, 'y'))
  spellings.set(character, known)
  return known
}

interface Patterns {
  /** What JSON has of a token, or a text in it. */
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
