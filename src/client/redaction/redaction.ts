// Removes secrets from JSON before it lands, and masks tokens in text before it is shown.
//
// A secret is recognised by its key, by the configuration that contains it, by a sibling field (an environment variable, a carrier named
// after a secret, an audit entry about one), or by its value. Rules about names do not apply to customer data (ADR 11).

import { safeKey } from '../../catalog/inspection/unknown-fields.ts'
import { ExactNumber, MAX_DEPTH } from '../../json/exact-json.ts'
import { isSecret, isSecretName, nameMeaning } from './secret-names.ts'
import {
  MASK,
  maySecretBeIn,
  withoutNamedSecret,
  withoutParameters,
  withoutSecretsInMessage,
  withoutSecretValues,
} from './secret-values.ts'

type JsonObject = Record<string, unknown>

interface Redacted {
  value: unknown
  /** Paths of removed values in document order: `agents[0].speechGen.apiKey`. `*` replaces a key that may be data or a secret. */
  droppedPaths: string[]
}

interface RedactionOptions {
  /** Keys whose values are kept without applying any rule. */
  isUntouched?: (name: string) => boolean
  /** True for events, where pairs of names and values, and parameters, may be customer data, unless they say where they are sent. */
  isOfCustomers?: boolean
}

/** Returns a copy of a JSON value without its secrets. Idempotent. */
export function redactSecrets(
  value: unknown,
  { isUntouched = () => false, isOfCustomers = false }: RedactionOptions = {},
): Redacted {
  const droppedPaths: string[] = []
  const redaction: Redaction = { isUntouched, isOfCustomers, drop: place => droppedPaths.push(pathOf(place)) }
  return { value: redact(value, ROOT, redaction), droppedPaths }
}

/** Removals by path; `[]` stands for every element of a list. */
export type RemovedSecrets = Readonly<Record<string, number>>

/** Counts removed secrets by path; the path omits the indexes of lists. */
export function countRemoved(droppedPaths: readonly string[]): RemovedSecrets {
  const counts = new Map<string, number>()
  for (const dropped of droppedPaths) {
    const path = dropped.replace(/\[\d+\]/g, '[]')
    counts.set(path, (counts.get(path) ?? 0) + 1)
  }
  return Object.fromEntries(counts)
}

/** Masks secrets in a text. `forms`: their `writtenForms`. */
export const redactForms = (text: string, forms: readonly string[]): string =>
  forms.reduce((rest, form) => rest.replaceAll(form, MASK), text)

/**
 * Returns every encoding of the secrets: plain, URL-encoded, escaped as in JSON, base64. The longest come first, since
 * a secret that starts with another one must be masked in full.
 */
export function writtenForms(secrets: readonly string[]): string[] {
  const forms = secrets.filter(secret => secret !== '').flatMap(formsOf)
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}

/** Returns a secret as strings of JSON contain it: with slashes, and as PHP escapes them. */
export function jsonFormsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  return [json, json.replaceAll('/', '\\/')]
}

function formsOf(secret: string): string[] {
  // A lone surrogate cannot be URL-encoded.
  const encodable = secret.replace(/\p{Surrogate}/gu, '\ufffd')
  const encoded = encodeURIComponent(encodable)
  return [
    secret,
    encoded,
    encoded.replace(/%[0-9A-F]{2}/g, byte => byte.toLowerCase()),
    // In JSON inside a JSON string, everything is escaped twice.
    ...jsonFormsOf(secret).flatMap(json => [json, JSON.stringify(json).slice(1, -1)]),
    ...base64Of(secret),
  ]
}

/** Returns the base64 characters of a secret at each of the three alignments, regardless of the surrounding text. */
export function base64Of(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const forms = [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const whole = Math.floor(((before + bytes.length) * 8) / 6)
    return text.slice(Math.ceil((before * 8) / 6), whole)
  })
  return forms.flatMap(form => [form, form.replaceAll('+', '-').replaceAll('/', '_')]).filter(form => form.length >= 8)
}

interface Redaction extends Required<RedactionOptions> {
  drop: (place: Place) => void
}

interface Place {
  above: Place | null
  key: string | number
  depth: number
  /** True inside the configuration of an external service. */
  inPlace: boolean
  /** True inside customer data, where names do not indicate secrets. */
  isCustomerData: boolean
}

const ROOT: Place = { above: null, key: '', depth: 0, inPlace: false, isCustomerData: false }

const within = (above: Place, key: string | number): Place => ({ ...above, above, key, depth: above.depth + 1 })

/** Returns the place of a member. Everything inside a configuration or customer data belongs to the outermost one. */
function memberOf(above: Place, name: string, { isOfCustomers }: Redaction): Place {
  const place = within(above, name)
  if (above.inPlace || above.isCustomerData) return place
  const { isPlace, isParameters, isCustomerData } = nameMeaning(name)
  return isPlace || (isParameters && !isOfCustomers)
    ? { ...place, inPlace: true }
    : isCustomerData
      ? { ...place, isCustomerData }
      : place
}

/** True for keys that look like identifiers: digits only at the end, and no known form of a secret. */
const isDisclosableName = (key: string): boolean =>
  /^[A-Za-z_$][A-Za-z_$-]{0,39}\d{0,2}$/.test(key) && !maySecretBeIn(key)

function pathOf({ above, key }: Place): string {
  if (above === null) return ''
  const path = pathOf(above)
  if (typeof key === 'number') return `${path}[${key}]`
  const shown = isDisclosableName(key) ? safeKey(key) : '*'
  return path === '' ? shown : `${path}.${shown}`
}

/** Redacts a value. Values nested deeper than MAX_DEPTH become null, since they are never read and could hide a secret. */
function redact(value: unknown, place: Place, redaction: Redaction): unknown {
  if (typeof value === 'string') return redactString(value, place, redaction)
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value
  if (place.depth + 1 > MAX_DEPTH) {
    redaction.drop(place)
    return null
  }
  return Array.isArray(value)
    ? redactList(value, place, redaction)
    : redactObject(value as JsonObject, place, redaction)
}

/** Masks secret values in a text; a text that is JSON is redacted as JSON. */
function redactString(text: string, place: Place, redaction: Redaction): string {
  if (maySecretBeIn(text) && /^\s*["[{]/.test(text)) {
    const kept = redactJsonText(text, place, redaction)
    if (kept !== undefined) return kept
  }
  const values = withoutSecretValues(text)
  const isAddress = typeof place.key === 'string' && !place.isCustomerData && nameMeaning(place.key).isAddress
  const plain = isAddress ? withoutParameters(values) : values
  const kept = place.inPlace ? withoutNamedSecret(plain) : plain
  if (kept !== text) redaction.drop(place)
  return kept
}

/** Redacts a text that is JSON; undefined if it is not. */
function redactJsonText(text: string, place: Place, redaction: Redaction): string | undefined {
  const dropped: Place[] = []
  try {
    const value = redact(JSON.parse(text), place, { ...redaction, drop: inner => dropped.push(inner) })
    for (const inner of dropped) redaction.drop(inner)
    return dropped.length === 0 ? text : JSON.stringify(value)
  } catch {
    return undefined
  }
}

function redactList(list: readonly unknown[], place: Place, redaction: Redaction): unknown[] {
  return list.map((element, index) => {
    const own = within(place, index)
    if ((place.inPlace || isPairInList(list, place, redaction)) && followsSecretName(list, index)) {
      redaction.drop(own)
      return MASK
    }
    return redact(element, own, redaction)
  })
}

/** True for `["X-Api-Key", "abc"]` in a list of pairs. */
const isPairInList = (list: readonly unknown[], place: Place, { isOfCustomers }: Redaction): boolean =>
  list.length === 2 && typeof place.key === 'number' && !place.isCustomerData && !isOfCustomers

/** True for a value after a secret's name: `["--api-key", "abc"]` (program arguments), `["X-Api-Key", "abc"]` (a header). */
function followsSecretName(list: readonly unknown[], index: number): boolean {
  const [name, value] = [list[index - 1], list[index]]
  if (typeof name !== 'string' || typeof value !== 'string' || value === MASK) return false
  const isOption = /^--?[A-Za-z]/.test(name) && !name.includes('=') && !value.startsWith('-')
  return (isOption || (list.length === 2 && index === 1)) && isSecret(name, value, true)
}

function redactObject(object: JsonObject, place: Place, redaction: Redaction): JsonObject {
  const besideSecret = namesBesideSecret(object, place, redaction)
  const kept = Object.entries(object).flatMap(([name, value]): [string, unknown][] => {
    if (redaction.isUntouched(name) && !place.inPlace) return [[name, value]]
    const own = memberOf(place, name, redaction)
    if (!place.isCustomerData) {
      if (isNamedSecret(name, object, place) || besideSecret.has(name)) {
        redaction.drop(own)
        // Keeps the member with null as value, so that a second pass still treats `key` as a name and not as a secret.
        return place.inPlace && besideSecret.has(name) ? [[name, null]] : []
      }
      if (isAuditEntry(object) && AUDITED_VALUES.includes(name)) return audited(object, name, own, redaction)
      if (name === 'error' && place.above?.key === 'providersFailed')
        return [[name, providerError(value, own, redaction)]]
    }
    if (withoutSecretValues(name) !== name) {
      redaction.drop(own)
      return []
    }
    return [[name, redact(value, own, redaction)]]
  })
  // fromEntries defines own properties, so a key `__proto__` stays data.
  return Object.fromEntries(kept)
}

/** True for a member whose name marks a secret. In `{ key: "order", value: 7 }` the member `key` contains a name, not a secret. */
const isNamedSecret = (name: string, object: JsonObject, { inPlace }: Place): boolean =>
  isSecret(name, object[name], inPlace) && !(nameMeaning(name).isCarriedName && carriedValues(object).length > 0)

const AUDITED_VALUES = ['oldValue', 'newValue']

const carriedValues = (object: JsonObject): string[] =>
  Object.keys(object).filter(name => nameMeaning(name).isCarriedValue)

const NONE: ReadonlySet<string> = new Set()

function namesBesideSecret(
  object: JsonObject,
  { inPlace, isCustomerData }: Place,
  { isOfCustomers }: Redaction,
): ReadonlySet<string> {
  if (isCustomerData) return NONE
  return new Set([
    ...(isEnvironmentVariable(object)
      ? carriedValues(object).filter(carried => (object[carried] ?? null) !== null)
      : namedAfterSecret(object, !isOfCustomers || inPlace || isSent(object))),
    ...(isAuditEntry(object) && isAboutSecret(object)
      ? AUDITED_VALUES.filter(audited => (object[audited] ?? null) !== null)
      : []),
  ])
}

function isEnvironmentVariable({ isEnv }: JsonObject): boolean {
  return isEnv === true || isEnv === 1 || (typeof isEnv === 'string' && /^\s*(?:true|1)\s*$/i.test(isEnv))
}

/** True for a carrier that says where it is sent: `{ in: "header", … }`. */
const isSent = (object: JsonObject): boolean =>
  typeof object.in === 'string' && /header|query|cookie|url|path/i.test(object.in)

/** Returns the members whose sibling names a secret: `{ key: "Authorization", value: … }`. MCP headers use `name`. */
function namedAfterSecret(object: JsonObject, isCarrier: boolean): string[] {
  const values = carriedValues(object)
  if (values.length === 0) return values
  const names = Object.entries(object).flatMap(([name, own]) =>
    typeof own === 'string' && nameMeaning(name).isCarriedName ? own : [],
  )
  return values.filter(carried => names.some(own => isSecret(own, object[carried], isCarrier)))
}

/** Matches characters without spaces that may be a key: long, and no address. */
const LONG_WORD = /(?<!\S)(?!["'(]{0,2}[a-z]{2,8}:\/\/)\S{12,}/gi

/** Masks words that may be keys in the error of a voice provider (section 4.9), which may quote the workspace's key in a sentence. */
function providerError(error: unknown, own: Place, redaction: Redaction): unknown {
  if (typeof error !== 'string') return redact(error, own, redaction)
  const kept = withoutSecretsInMessage(error).replace(LONG_WORD, word => (/^[a-z]+[.,:;]?$/i.test(word) ? word : MASK))
  if (kept !== error) redaction.drop(own)
  return kept
}

interface AuditEntry extends JsonObject {
  field: string
}

function isAuditEntry(object: JsonObject): object is AuditEntry {
  return typeof object.field === 'string' && AUDITED_VALUES.some(name => name in object)
}

/** Returns the names in an audit entry's dotted field, with ids in brackets: `nodes[n1].tools[t2].serverUrlSecret`. */
const namesIn = (field: string): string[] => field.split(/[.[\]"']+/).filter(name => name !== '')

const isPlaceName = (name: string): boolean => nameMeaning(name).isPlace

/** Variables, tool fields and headers may contain a secret under any name: `vg_variables`, `requestHeaders`, `envVars`. */
const HOLDS_ANYTHING = /^(?:variable|fields?|header|env(?:ironment)?|\w*(?:variables|headers|toolfields|env_?vars))$/i

function isAboutSecret({ field, oldValue, newValue }: AuditEntry): boolean {
  const names = namesIn(field)
  const inPlace = names.some(isPlaceName)
  const isNamed = (name: string) => isSecret(name, oldValue, inPlace) || isSecret(name, newValue, inPlace)
  return names.some(name => HOLDS_ANYTHING.test(name) || isNamed(name))
}

/** True for truncated JSON that may contain a secret: a name of one, or a key, even if only its end shows it. */
const mayHoldSecret = (text: string, inPlace: boolean): boolean =>
  isSecretName(text) ||
  [...text.matchAll(/"([^"\\]{1,64})"(\s{0,4}:)?/g)].some(([, name, colon]) => {
    const { isSecret, isAuth, isKey } = nameMeaning(name!)
    return isSecret || isAuth || (isKey && (inPlace || colon === undefined))
  })

/** Redacts an audited value. It is a string; for a changed object, the string is JSON and contains the object's secrets. */
function audited(entry: AuditEntry, name: string, own: Place, redaction: Redaction): [string, unknown][] {
  const value = entry[name]
  const place = { ...own, inPlace: own.inPlace || namesIn(entry.field).some(isPlaceName) }
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return [[name, redact(value, place, redaction)]]
  const text = redactJsonText(value, place, redaction)
  if (text !== undefined) return [[name, text]]
  // Truncated JSON cannot be redacted, so it is dropped.
  if (!mayHoldSecret(value, place.inPlace)) return [[name, redactString(value, place, redaction)]]
  redaction.drop(place)
  return []
}
