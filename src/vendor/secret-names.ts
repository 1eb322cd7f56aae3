// Rules on names (notes on the API, "Secret-bearing fields"): which names hold a secret, where any name that ends in `key` does, and
// which names hold customer data, where a name says nothing.

import { ExactNumber } from '../json/exact-json.ts'

/** What a name alone says. */
export interface NameMeaning {
  /** What it holds is a secret, unless it is a boolean or nothing. */
  isSecret: boolean
  /** A secret unless it is a count: `maxTokens: 4096` is one, `accessTokens: ["abc"]` is not. */
  isCounted: boolean
  /** A secret where it holds a text: `X-Auth`, `basicAuth`. An object of that name is a place. */
  isAuth: boolean
  /** A secret inside the configuration of an external service. */
  isKey: boolean
  /** The configuration of an external service: `vapiConfig`, `externalVoiceSettings`, `mcpServers`, `env`, `headers`, `auth`. */
  isPlace: boolean
  /** Customer data, whatever names it uses inside. */
  isCustomerData: boolean
}

const KEYS = 'api|pass|hmac|private|access|signing|encryption|client|subscription'
/** A `tokenizer` and a `secretary` are other words. */
const SECRET = new RegExp(
  `secret(?!ar(?:y|ies))|password|passwd|passphrase|passcode|pwd|token(?!i[sz])|credential|authori[sz]ation|bearer|jwt|cookie|magic[_\\-\\s]?code|(?:${KEYS})[_\\-.\\s]*key`,
  'i',
)
/** `smtpPass`, `db_pass`, `dbpass`; `bypass`, `compass` and `passThrough` are other words. */
const PASS = /(?<!by|com|sur|tres|over|under)pass\d*$/i

/** `tokenUsage`, `maxTokens`, `cumulativeInputTokens`, `tokenCount`: tokens of a language model. */
const MODEL_TOKENS = /tokens?[_-]?usage|tokens(?!ecret)|token[_-]?(?:count|limit|budget|window)/gi
const COUNTED = /tokens(?!ecret)|token[_-]?(?:count|limit|budget|window)/i
const TOKEN_USAGE = /tokens?[_-]?usage/i

const KEY = /key$/i
const PUBLIC_KEY = /public[_\-\s]*key$/i
const AUTH = /auth$/i
const PLACE =
  /configs?$|^mcp[_-]?servers?$|^env(?:ironment|[_-]?vars?)?$|headers?$|^auth(?:entication)?$|vapi|(?:voice|external)[\w-]*settings$/i

/** Compared without case, `_` and `-`. */
const CUSTOMER_DATA: ReadonlySet<string> = new Set([
  'formdata',
  'capturedvariables',
  'turns',
  'messageshistory',
  'messages',
  'message',
  'notes',
  'note',
  'metrics',
  'lightconvodata',
])

function meaningOf(name: string): NameMeaning {
  // Taken out, not looked for: `tokenUsageSecret` stays a secret.
  const rest = name.replace(MODEL_TOKENS, '|')
  return {
    isSecret: SECRET.test(rest) || PASS.test(rest),
    isCounted: COUNTED.test(name.replace(TOKEN_USAGE, '|')),
    isAuth: AUTH.test(name),
    isKey: KEY.test(name) && !PUBLIC_KEY.test(name),
    isPlace: PLACE.test(name),
    isCustomerData: CUSTOMER_DATA.has(name.replace(/[_-]/g, '').toLowerCase()),
  }
}

/** Names are the sender's: only so many are remembered. Most come again and again, and the patterns take longer than the parser. */
const MAX_CACHED_NAMES = 4_096
const MAX_CACHED_CHARS = 64
const meanings = new Map<string, NameMeaning>()

export function nameMeaning(name: string): NameMeaning {
  const known = meanings.get(name)
  if (known !== undefined) return known
  const found = meaningOf(name)
  if (meanings.size < MAX_CACHED_NAMES && name.length <= MAX_CACHED_CHARS) meanings.set(name, found)
  return found
}

/** True where the name alone says that what it holds is a secret. */
export const isSecretName = (name: string): boolean => nameMeaning(name).isSecret

/** True where what stands under that name must not be kept. `inPlace`: inside the configuration of an external service. */
export function isSecret(name: string, value: unknown, inPlace = false): boolean {
  const { isSecret, isCounted, isAuth, isKey } = nameMeaning(name)
  if (isSecret || (inPlace && isKey)) return !holdsOnly(value, isNothing)
  if (isAuth && typeof value === 'string') return !isNothing(value)
  return isCounted && !holdsOnly(value, isCount)
}

/** A boolean, in a text too, or nothing at all: no secret, whatever its name. */
const isNothing = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  typeof value === 'boolean' ||
  (typeof value === 'string' && /^\s*(?:true|false)?\s*$/i.test(value))

const isCount = (value: unknown): boolean =>
  isNothing(value) ||
  typeof value === 'number' ||
  value instanceof ExactNumber ||
  (typeof value === 'string' && /^[\d.,\s]*$/.test(value))

/** Counts and switches stand in a few levels at most; what is nested deeper is none. */
const LEVELS = 10

function holdsOnly(value: unknown, isAllowed: (leaf: unknown) => boolean, levels = LEVELS): boolean {
  if (isAllowed(value)) return true
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber || levels === 0) return false
  return Object.values(value).every(inner => holdsOnly(inner, isAllowed, levels - 1))
}
