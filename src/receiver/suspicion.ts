// Whether a name is one that a secret may stand under. Most names come again and again, so what is found is kept: to try the patterns
// on each name each time would take longer than to parse it.
import { isSecretName, isVoicePlatform } from '../vendor/secret-names.ts'

/** `by value`: where its value is no count of tokens. */
export type Suspicion = 'none' | 'by value' | 'always'

/** Names are the sender's: beyond so many, none is kept. */
const MOST_NAMES = 4_096
const LONGEST_NAME = 64

const suspicions = new Map<string, Suspicion>()

export function findSuspicion(name: string): Suspicion {
  if (name === 'isEnv' || isVoicePlatform(name) || isSecretName(name)) return 'always'
  return /tokens$/i.test(name) ? 'by value' : 'none'
}

export function suspicionOf(name: string): Suspicion {
  const known = suspicions.get(name)
  if (known !== undefined) return known
  const found = findSuspicion(name)
  if (suspicions.size < MOST_NAMES && name.length <= LONGEST_NAME) suspicions.set(name, found)
  return found
}
