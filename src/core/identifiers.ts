// Identifiers of contacts in one spelling: `email:…` in lower case, `phone:+…` in E.164, `user:…` for ids. A value may have
// several, such as a user id that is a phone number: two people share a value if they share one of its identifiers.
import { parsePhoneNumber } from 'awesome-phonenumber'

/** Texts that stand for "nobody", and roles that a message may name instead of its author. */
const PLACEHOLDERS = new Set([
  ...[
    '',
    '-',
    '.',
    '0',
    'n/a',
    'na',
    'none',
    'null',
    'nil',
    'undefined',
    'unknown',
    'anonymous',
    'anonym',
    'guest',
    'test',
  ],
  ...['user', 'customer', 'contact', 'visitor', 'client', 'lead', 'caller', 'bot', 'agent', 'ai', 'assistant', 'human'],
])

const isPlaceholder = (text: string): boolean => PLACEHOLDERS.has(text.toLowerCase()) || /^(.)\1*$/.test(text)

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).normalize('NFKC').trim() : ''

/** Returns the identifier of an address such as `Jane <Jane@Example.org>`; none if it has no `@`, or stands for nobody. */
export function emailIdentifiers(value: unknown): string[] {
  const text = textOf(value).toLowerCase()
  const address = (/<([^<>]+)>/.exec(text)?.[1] ?? text).replace(/^mailto:/, '').trim()
  const [, local, ...rest] = /^([^\s@]+)@([^\s@]+)$/.exec(address) ?? []
  if (local === undefined || rest.length === 0 || PLACEHOLDERS.has(local) || /^(no-?reply|(.)\2{2,})$/.test(local))
    return []
  return [`email:${address}`]
}

const E164 = /^\+[1-9]\d{6,14}$/

/**
 * Returns the identifiers of a telephone number. Without a calling code (`+49 …`, `0049 …`) it is read as a number of each
 * of the `countries` (`DE`), and as one whose `+` was left out.
 */
export function phoneIdentifiers(value: unknown, countries: readonly string[]): string[] {
  const text = textOf(value).replace(/^[a-z]+:/i, '')
  const digits = text.replaceAll(/[^\d+]/g, '').replace(/^00/, '+')
  if (/[a-z@]/i.test(text) || isPlaceholder(digits.replace(/^\+/, ''))) return []
  if (digits.startsWith('+')) {
    // The parser knows that the 0 of `+49 (0) 170 …` is not dialled. It takes long, and most numbers have no parentheses.
    const number = text.includes('(') ? parsePhoneNumber(text.replace(/^\s*00/, '+')).number?.e164 : undefined
    return identifiersOf([number ?? digits])
  }
  const read = countries.map(regionCode => parsePhoneNumber(text, { regionCode }).number?.e164)
  return identifiersOf([...read, `+${digits}`])
}

const identifiersOf = (numbers: readonly (string | undefined)[]): string[] =>
  [...new Set(numbers)].flatMap(number => (number !== undefined && E164.test(number) ? [`phone:${number}`] : []))

/** Returns the identifiers of a user's id, which may be an email address or, on calls and WhatsApp, a telephone number. */
export function userIdentifiers(value: unknown, countries: readonly string[]): string[] {
  const text = textOf(value)
  if (isPlaceholder(text)) return []
  return [`user:${text}`, ...emailIdentifiers(text), ...phoneIdentifiers(text, countries)]
}

/** The people and conversations that must stay away. Holds hashes, so it answers only about what it is asked. */
export interface Forgotten {
  /** Identifies the list of people; changes when it does. */
  stamp: string
  isEmpty: boolean
  /** True if conversations were forgotten, and not only identifiers. */
  namesConversations: boolean
  /** Countries in which telephone numbers without a calling code are read. */
  countries: readonly string[]
  hasIdentifier(identifier: string): boolean
  /** `agentId` is null if the agent is unknown. */
  hasConversation(conversation: { workspaceId: string; agentId: string | null; id: string }): boolean
  /** Workspaces in which a forgotten person has begun a conversation that may have events, which named nobody. */
  begun: ReadonlySet<string>
}
