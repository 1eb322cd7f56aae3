// Drops secrets from JSON before it lands, and blanks tokens in text before it is shown.
//
// A secret is found by the name it stands under, or by what stands beside it: a variable of the environment, a tool field or
// header named after a secret, an audit entry about one.

import { ExactNumber, MAX_DEPTH } from '../catalog/exact-json.ts'
import { isSecret, isSecretName, isVoicePlatform, isVoicePlatformSecret } from './secret-names.ts'

type JsonObject = Record<string, unknown>

interface Place {
  path: string
  depth: number
  inVoicePlatform: boolean
}

export interface Redacted {
  value: unknown
  /** Where something was dropped: `agents[0].voiceConfig.speechGen.apiKey`, in document order. */
  droppedPaths: string[]
}

/** A copy of a JSON value without its secrets; the value itself is left as it is. Applied twice, it drops nothing more. */
export function redactSecrets(value: unknown): Redacted {
  const droppedPaths: string[] = []
  return { value: redact(value, { path: '', depth: 0, inVoicePlatform: false }, droppedPaths), droppedPaths }
}

/** The text with every known secret blanked, as it is, URL-encoded, or escaped as in JSON. */
export function redactText(text: string, secrets: readonly string[]): string {
  return writtenForms(secrets).reduce((rest, form) => rest.replaceAll(form, '***'), text)
}

/** Longest first: a secret that begins with another one must not leave its end behind. */
export function writtenForms(secrets: readonly string[]): string[] {
  const forms = secrets.filter(secret => secret !== '').flatMap(formsOf)
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}

function formsOf(secret: string): string[] {
  // A lone surrogate cannot be URL-encoded.
  const encodable = secret.replace(/\p{Surrogate}/gu, '\ufffd')
  return [secret, encodeURIComponent(encodable), JSON.stringify(secret).slice(1, -1)]
}

/** What is nested deeper than anything that is read reads as null: a secret could hide in it, and it has no end in sight. */
function redact(value: unknown, place: Place, dropped: string[]): unknown {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value
  const depth = place.depth + 1
  if (depth > MAX_DEPTH) {
    dropped.push(place.path)
    return null
  }
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      redact(item, { ...place, depth, path: inside(place.path, `[${index}]`) }, dropped),
    )
  }
  return redactObject(value as JsonObject, place, dropped)
}

function redactObject(object: JsonObject, place: Place, dropped: string[]): JsonObject {
  const besideSecret = namesBesideSecret(object)
  const kept = Object.entries(object).flatMap(([name, value]): [string, unknown][] => {
    const path = inside(place.path, name)
    const named = isSecret(name, value) || (place.inVoicePlatform && isVoicePlatformSecret(name))
    if (named || besideSecret.has(name)) {
      dropped.push(path)
      return []
    }
    const within = { path, depth: place.depth + 1, inVoicePlatform: place.inVoicePlatform || isVoicePlatform(name) }
    if (isAuditEntry(object) && AUDITED_VALUES.includes(name)) return audited(object, name, within, dropped)
    return [[name, redact(value, within, dropped)]]
  })
  // fromEntries defines its properties, so a key `__proto__` stays data.
  return Object.fromEntries(kept)
}

function inside(path: string, inner: string): string {
  return path === '' || inner.startsWith('[') ? `${path}${inner}` : `${path}.${inner}`
}

const AUDITED_VALUES = ['oldValue', 'newValue']
const CARRIED_VALUES = ['value', 'defaultValue']

function namesBesideSecret(object: JsonObject): ReadonlySet<string> {
  return new Set([
    ...(isEnvironmentVariable(object) || isNamedAfterSecret(object) ? CARRIED_VALUES : []),
    ...(isAuditEntry(object) && isAboutSecret(object) ? AUDITED_VALUES : []),
  ])
}

function isEnvironmentVariable({ isEnv }: JsonObject): boolean {
  return isEnv === true || isEnv === 1 || isEnv === 'true'
}

/** `{ key: "Authorization", value: … }`; headers of MCP servers say `name` for `key`. */
function isNamedAfterSecret(object: JsonObject): boolean {
  return [object.key, object.name].some(
    own => typeof own === 'string' && CARRIED_VALUES.some(name => name in object && isSecret(own, object[name])),
  )
}

interface AuditEntry extends JsonObject {
  field: string
}

function isAuditEntry(object: JsonObject): object is AuditEntry {
  return typeof object.field === 'string' && AUDITED_VALUES.some(name => name in object)
}

/** The field is a dotted path with ids in brackets: `nodes[n1].tools[t2].serverUrlSecret` (section 2.4). */
const namesIn = (field: string): string[] => field.split(/[.[\]"']+/).filter(name => name !== '')

function isAboutSecret({ field, oldValue, newValue }: AuditEntry): boolean {
  const names = namesIn(field)
  if (names.some(name => isSecret(name, oldValue) || isSecret(name, newValue))) return true
  return names.some(isVoicePlatform) && isVoicePlatformSecret(names.at(-1) ?? '')
}

/** What was audited is a string: where a whole object changed, its secrets are inside that text. */
function audited(entry: AuditEntry, name: string, { path, depth }: Place, dropped: string[]): [string, unknown][] {
  const value = entry[name]
  const place = { path, depth, inVoicePlatform: namesIn(entry.field).some(isVoicePlatform) }
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return [[name, redact(value, place, dropped)]]
  const text = redactJsonText(value, place, dropped)
  return text === undefined ? [] : [[name, text]]
}

/** Undefined where the text is no whole JSON and yet names a secret: nothing of it can be kept. */
function redactJsonText(text: string, place: Place, dropped: string[]): string | undefined {
  const droppedInside: string[] = []
  try {
    const value = redact(JSON.parse(text), place, droppedInside)
    dropped.push(...droppedInside)
    return droppedInside.length === 0 ? text : JSON.stringify(value)
  } catch {
    if (!isSecretName(text)) return text
    dropped.push(place.path)
    return undefined
  }
}
