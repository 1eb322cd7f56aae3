// Masks values that are secrets under any name: `sk-…`, `Bearer …`, JSON web tokens, PEM, keys of well-known services, and URLs with a
// user, a secret parameter or a secret path. Only the secret is removed, not the surrounding text.
//
// Quantifiers are bounded, because texts may be long and hostile.

import { isSecret, nameMeaning } from './secret-names.ts'

/** Replaces a removed secret. */
export const MASK = '***'

/** Fast check: false only if `withoutSecretValues` changes nothing. Also matches JSON texts and escaped forms. */
const SUSPICIOUS =
  /:\/\/|%3A%2F%2F|-----BEGIN|\beyJ|\bbearer|\bbasic[\s\\]|(?<![a-z0-9])[sr]k[-_]|\bgh[pousr]_|\bgithub_pat|\bglpat-|\bxox[a-z]-|\bxapp-|\bAKIA|\bAIza|\bSG\.|\bhf_|\bwhsec_|\bnpm_|\bya29\.|hooks?\.|webhook|telegram\.org|^(?:\s|\\.)*["[{]/i

export const maySecretBeIn = (text: string): boolean => SUSPICIOUS.test(text)

const PEM = /-----BEGIN [A-Z0-9 ]{1,64}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,64}-----|$)/g
/** Also matches beginnings of a token, which are not masked: without that, 100 KB of repeated `eyJ` took seconds. */
const JSON_WEB_TOKEN = /\beyJ[\w-]{5,}(\.[\w-]{4,4096}(?:\.[\w-]{0,4096}){0,3})?/g
const OF_SERVICES =
  /\b(?:gh[pousr]_\w{20,255}|github_pat_\w{20,255}|glpat-[\w-]{15,255}|xox[a-z]-[\w-]{10,255}|xapp-[\w-]{10,255}|AKIA[A-Z0-9]{12,124}|AIza[\w-]{30,100}|SG\.[\w-]{16,255}\.[\w-]{16,255}|hf_\w{20,255}|whsec_[\w+/=-]{8,255}|npm_\w{30,255}|ya29\.[\w-]{20,512})/g
const SECRET_KEY = /(?<![A-Za-z0-9_-])[sr]k[-_][\w-]{8,512}/g
const BEARER = /\b(bearer\s{1,8})([^\s"'`<>{}$*,;\\][^\s"'`<>{},;\\]{0,8191})/gi
const BASIC = /\b(basic\s{1,8})([A-Za-z0-9+/]{6,4096}={0,2})/gi
/** Matches paths that are credentials themselves: they allow posting or acting as the bot. */
const SECRET_PATH =
  /\b(hooks\.slack\.com|webhook\.office\.com|outlook\.office\.com\/webhook|(?:canary\.|ptb\.)?discord(?:app)?\.com\/api\/webhooks|hooks\.zapier\.com|hook\.(?:[\w-]{1,20}\.)?(?:make|integromat)\.com|api\.telegram\.org)\/[^\s"'<>{}\\]{1,4096}/gi
const ADDRESS = /\b[a-z][a-z0-9+.-]{1,30}:\/\/(?:[^\s"'<>`{}\\]|\{{1,2}[^\s"'<>`{}\\]{1,128}\}{1,2}){1,8192}/gi
const ENCODED_ADDRESS = /\b[a-z][a-z0-9+.-]{1,30}%3A%2F%2F[^\s"'<>`{}\\]{1,8192}/gi
const LONG_CODE = 20

/** True for text that is not a word: it has a digit or at least 20 characters. */
const isOpaque = (text: string): boolean => /\d/.test(text) || text.length >= 20

/** True for words after a scheme that are no secret, as in `Bearer token`. */
const isWord = (text: string): boolean =>
  /^(?:tokens?|auth|authentication|authorization|keys?|schemes?|format|only)\W*$/i.test(text)

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

function isSecretParameter(name: string, value: string): boolean {
  const own = decoded(name)
  if (value === '' || value === MASK) return false
  return isSecret(own, decoded(value), true) || (own === 'code' && value.length >= LONG_CODE)
}

/** Removes secrets from a parameter's value that may itself be a URL. */
function withoutInner(value: string): string {
  if (value.includes('?')) return withoutParameters(value)
  const plain = decoded(value)
  if (plain === value || !plain.includes('://')) return value
  const left = withoutSecretValues(plain)
  return left === plain ? value : encodeURIComponent(left)
}

/** Removes secret parameters from an address, also from one without a scheme. */
export const withoutParameters = (text: string): string =>
  text
    .replace(/([?&#;])([^=&#;?/]{1,256})=([^&#;]*)/g, (_, begin: string, name: string, value: string) => {
      if (!isSecretParameter(name, value)) return `${begin}${name}=${withoutInner(value)}`
      return begin === '?' || begin === '#' ? begin : ''
    })
    .replace(/([?#])[&;]/g, '$1')
    .replace(/[?#](?=#|$)/g, '')

/** Removes the user information (`user:password@`) and the secret parameters from a URL. */
function withoutAddressSecrets(address: string): string {
  const begin = address.indexOf('://') + 3
  const end = address.slice(begin).search(/[/?#]/)
  const authority = end < 0 ? address.slice(begin) : address.slice(begin, begin + end)
  const at = authority.lastIndexOf('@')
  const bare = at < 0 ? address : address.slice(0, begin) + address.slice(begin + at + 1)
  return /[?#&;][^=]{1,256}=/.test(bare) ? withoutParameters(bare) : bare
}

const isCredentials = (text: string): boolean =>
  /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(Buffer.from(text, 'base64').toString('latin1'))

/** Masks every recognisable secret in a text. Idempotent. */
export function withoutSecretValues(text: string): string {
  let left = text
  for (let round = 0; round < MAX_ROUNDS && maySecretBeIn(left); round++) {
    const before = left
    left = maskOnce(before)
    if (left === before) break
  }
  return left
}

/** Maximum number of rounds of masking: masking one secret may reveal another one. */
const MAX_ROUNDS = 8

function maskOnce(text: string): string {
  const isAlone = !/\s/.test(text.trim())
  const isBearerAlone = /^\s*bearer\s+\S+\s*$/i.test(text)
  return text
    .replace(PEM, MASK)
    .replace(JSON_WEB_TOKEN, (whole, rest: string | undefined) => (rest === undefined ? whole : MASK))
    .replace(BEARER, (whole, scheme: string, token: string) =>
      isWord(token) || !(isBearerAlone || (token.length >= 8 && isOpaque(token))) ? whole : `${scheme}${MASK}`,
    )
    .replace(BASIC, (whole, scheme: string, token: string) => (isCredentials(token) ? `${scheme}${MASK}` : whole))
    .replace(OF_SERVICES, MASK)
    .replace(SECRET_KEY, key => (isAlone || isOpaque(key.slice(3)) ? MASK : key))
    .replace(SECRET_PATH, (whole, service: string) => (whole.endsWith(`/${MASK}`) ? whole : `${service}/${MASK}`))
    .replace(ADDRESS, withoutAddressSecrets)
    .replace(ENCODED_ADDRESS, withoutInner)
}

/** Matches a name and its value in one text: `X-Api-Key: abc`, `OPENAI_KEY=abc`, `--token=abc`. */
const NAMED = /^(\s*-{0,2}(?:export\s+)?([\w.-]{1,64})\s*[:=]\s*)(\S[\s\S]*)$/
/** Matches a line of headers or variables. */
const NAMED_LINE = /^\s*(?:#.*|(?:export\s+)?[\w.-]{1,64}\s*[:=].*)?$/

function withoutNamedOne(text: string): string {
  const [, head, name, value] = NAMED.exec(text) ?? []
  return name !== undefined && value !== MASK && isSecret(name, value, true) ? `${head}${MASK}` : text
}

/** Masks a header, a variable or an option, or lines of these, in the configuration of an external service. */
export function withoutNamedSecret(text: string): string {
  const lines = text.split(/(\r?\n)/)
  return lines.length > 1 && lines.every(line => NAMED_LINE.test(line))
    ? lines.map(withoutNamedOne).join('')
    : withoutNamedOne(text)
}

const IN_PROSE = /([\w.-]{0,64}(?:[ -]key|key|[a-z]))(["']?\s{0,4}[:=]\s{0,4}["']?)([^\s"',;&})\]]{1,4096})/gi
const PLAIN_WORD =
  /^(?:required|invalid|missing|expected|expired|must|is|not|a|an|the|unexpected|unknown|[a-z]{1,3})[.!]?$/i

/** Masks secrets in error messages, which may quote their input: also values after `password:` or `apiKey=`. */
export const withoutSecretsInMessage = (text: string): string =>
  withoutSecretValues(text).replace(IN_PROSE, (whole, name: string, between: string, value: string) => {
    const { isSecret: isNamed, isKey } = nameMeaning(name)
    return (isNamed || isKey) && value !== MASK && !PLAIN_WORD.test(value) ? `${name}${between}${MASK}` : whole
  })
