// Which names hold a secret (notes on the API, "Secret-bearing fields"). A rule on names catches the fields that nobody listed.

const SECRET = /secret|password|token|api[_\-\s]?key|private[_\-\s]?key|authorization|magicCode/i

/** `tokenUsage`, `maxTokens`, `cumulativeInputTokens`: tokens of a language model. */
const MODEL_TOKENS = /token_?usage|tokens$/gi
const PLURAL = /tokens$/i

/** True where the name alone says that what it holds is a secret. */
export function isSecretName(name: string): boolean {
  // Taken out, not looked for: `tokenUsageSecret` stays a secret.
  return SECRET.test(name.replace(MODEL_TOKENS, '|'))
}

/** True where the value must not be kept under that name: `maxTokens: 4096` may be, `accessTokens: ["abc"]` may not. */
export function isSecret(name: string, value: unknown): boolean {
  return isSecretName(name) || (PLURAL.test(name) && !isCount(value))
}

/** Inside the settings of an external voice platform (`vapiConfig` and the like) any key is a secret, the public one apart. */
export function isVoicePlatformSecret(name: string): boolean {
  return /key$/i.test(name) && !/public[_-]?key$/i.test(name)
}

export function isVoicePlatform(name: string): boolean {
  return /vapi/i.test(name)
}

/** Counts stand in a few levels at most; what is nested deeper is none. */
const COUNT_LEVELS = 10

function isCount(value: unknown, levels = COUNT_LEVELS): boolean {
  if (typeof value === 'string') return /^[\d.,\s]*$/.test(value)
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every(inner => isCount(inner, levels - 1))
}
