// Rules about key names (notes on the API, "Secret-bearing fields"): names that mark a secret, configurations and carriers
// (headers, parameters, fields, variables) in which any name that ends in `key` does, and names that mark customer data, where no
// rule about names applies.

import { ExactNumber } from '../../json/exact-json.ts'

/** The classification of a key by its name alone. */
interface NameMeaning {
  /** True for a secret, unless the value is a boolean or empty. */
  isSecret: boolean
  /** True for a secret, unless the value is a count: `maxTokens: 4096` is kept, `accessTokens: ["abc"]` is not. */
  isCounted: boolean
  /** True for a secret if the value is a string: `X-Auth`, `basicAuth`. An object under such a name is a configuration. */
  isAuth: boolean
  /** True for a secret inside the configuration of an external service, and in a carrier: `X-Auth-Key`, `sig`. */
  isKey: boolean
  /** True for the configuration of an external service: `vapiConfig`, `externalVoiceSettings`, `mcpServers`, `env`, `auth`. */
  isPlace: boolean
  /** True for an object of parameters of an external service: `queryParams`. */
  isParameters: boolean
  /** True for customer data, regardless of the names inside it. */
  isCustomerData: boolean
  /** True for the member of a carrier that contains its name: `key` in `{ in: "header", key: "X-Auth", value: … }`. */
  isCarriedName: boolean
  /** True for the member of a carrier that contains its value. */
  isCarriedValue: boolean
  /** True for a member that contains an address: `serverUrl`. */
  isAddress: boolean
}

const KEYS = 'api|pass|hmac|private|access|signing|encryption|client|subscription'
/** Excludes `tokenizer` and `secretary`. */
const SECRET = new RegExp(
  `secret(?!ar(?:y|ies))|password|passwd|passphrase|passcode|pwd|token(?!i[sz])|credential|authori[sz]ation|bearer|jwt|cookie|magic[_\\-\\s]?code|(?:${KEYS})[_\\-.\\s]*key`,
  'i',
)
/** Matches `smtpPass`, `db_pass`, `dbpass`; not `bypass`, `compass`, `passThrough`. */
const PASS = /(?<!by|com|sur|tres|over|under)pass\d*$/i

/** Matches language model tokens: `tokenUsage`, `maxTokens`, `cumulativeInputTokens`, `tokenCount`. */
const MODEL_TOKENS = /tokens?[_-]?usage|tokens(?!ecret)|token[_-]?(?:count|limit|budget|window)/gi
const COUNTED = /tokens(?!ecret)|token[_-]?(?:count|limit|budget|window)/i
const TOKEN_USAGE = /tokens?[_-]?usage/i

/** Excludes `monkey`, `turkey`, `turnkey` and the like. */
const KEY = /(?<!mon|tur|turn|don|hoc|joc|whis|lac|mic|latch|hot)key[_\-\s]?\d*$/i
const SIGNATURE = /(?<!mail[_\-\s]?)(?:sig|signature|hmac)$/i
const PUBLIC_KEY = /public[_\-\s]*key$/i
const AUTH = /auth(?:[_\-\s]?(?:header|value|string|code|data))?$/i
const PLACE =
  /configs?$|^mcp[_-]?servers?$|^env(?:ironment|[_-]?vars?)?$|headers?$|^auth(?:entication)?$|vapi|(?:voice|external)[\w-]*settings$/i
/** `parameters` alone is a JSON schema. */
const PARAMETERS = /^(?:query|url|request)[_-]?(?:params?|parameters)$/i

const CARRIED_NAME =
  /^(?:(?:header|field|query|param(?:eter)?|variable)[_-]?)?(?:name|key)$|^(?:header|param(?:eter)?|variable)$/i
const CARRIED_VALUE = /^(?:(?:default|header|initial|current)[_-]?)?value$|^default$/i
const ADDRESS = /(?:url|uri|endpoint|href|webhook)$/i

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
  // Removed before matching, so that `tokenUsageSecret` stays a secret.
  const rest = name.replace(MODEL_TOKENS, '|')
  return {
    isSecret: SECRET.test(rest) || PASS.test(rest),
    isCounted: COUNTED.test(name.replace(TOKEN_USAGE, '|')),
    isAuth: AUTH.test(name),
    isKey: (KEY.test(name) && !PUBLIC_KEY.test(name)) || SIGNATURE.test(name),
    isPlace: PLACE.test(name),
    isParameters: PARAMETERS.test(name),
    isCustomerData: CUSTOMER_DATA.has(name.replace(/[_-]/g, '').toLowerCase()),
    isCarriedName: CARRIED_NAME.test(name),
    isCarriedValue: CARRIED_VALUE.test(name),
    isAddress: ADDRESS.test(name),
  }
}

/** Bounds of the cache, because the sender chooses the names. Most names repeat, and matching one costs more than parsing it. */
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

/** True if the name alone marks a secret. */
export const isSecretName = (name: string): boolean => nameMeaning(name).isSecret

/** True if the value must not be kept. `inPlace`: it is in a carrier or inside the configuration of an external service. */
export function isSecret(name: string, value: unknown, inPlace = false): boolean {
  const { isSecret, isCounted, isAuth, isKey } = nameMeaning(name)
  if (isSecret || (inPlace && isKey)) return !holdsOnly(value, isNothing)
  if (isAuth && typeof value === 'string') return !isNothing(value)
  return isCounted && !holdsOnly(value, isCount)
}

/** Matches a text that only refers to values elsewhere: `{{var:token}}`, `Bearer {{token}}`, `{{user}}:{{password}}`. */
const REFERENCE = /^\s*(?:(?:bearer|basic|token|key|apikey)[\s=:]{1,4})?(?:\{\{[^{}]{1,128}\}\}[\s:;,.&/-]{0,4}){1,8}$/i

/** True for booleans (even as text), references and empty values, which are never secrets. */
const isNothing = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  typeof value === 'boolean' ||
  (typeof value === 'string' && (/^\s*(?:true|false)?\s*$/i.test(value) || REFERENCE.test(value)))

const isCount = (value: unknown): boolean =>
  isNothing(value) ||
  typeof value === 'number' ||
  value instanceof ExactNumber ||
  (typeof value === 'string' && /^[\d.,\s]*$/.test(value))

/** Depth to which a value is searched: counts and switches are nested a few levels at most. */
const LEVELS = 10

function holdsOnly(value: unknown, isAllowed: (leaf: unknown) => boolean, levels = LEVELS): boolean {
  if (isAllowed(value)) return true
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber || levels === 0) return false
  return Object.values(value).every(inner => holdsOnly(inner, isAllowed, levels - 1))
}
