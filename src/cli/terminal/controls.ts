// Control characters in texts. Records contain people's messages: an escape sequence must not move the cursor, set colours or write to the
// clipboard, and a direction override must not reorder a line.
import type { Writable } from 'node:stream'
import { isTerminal, SGR } from './style.ts'

const CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

const IN_LINES = new RegExp(`\\r\\n|${CONTROL.source}`, 'gu')
const IN_STYLED = new RegExp(`${SGR.source}|${IN_LINES.source}`, 'gu')

const NAMES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const escaped = (character: string): string =>
  NAMES[character] ?? `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`

/** Returns the text on one line, with control characters escaped. */
export const visible = (text: string): string => text.replace(CONTROL, escaped)

const isLayout = (found: string): boolean => found === '\n' || found === '\t' || found === '\r\n'

/** Returns text of several lines with all other control characters escaped. */
export const visibleLines = (text: string): string =>
  text.replace(IN_LINES, found => (isLayout(found) ? found : escaped(found)))

/** Returns styled lines as a terminal may get them; all other streams get them unchanged. */
export const forTerminal = (to: Writable, text: string): string =>
  isTerminal(to)
    ? text.replace(IN_STYLED, found => (found.length > 2 || isLayout(found) ? found : escaped(found)))
    : text

/** Returns an answer's text or bytes as a terminal may get them; all other streams get them unchanged. */
export const answerFor = (to: Writable, answer: string | Uint8Array): string | Uint8Array =>
  isTerminal(to) ? visibleLines(typeof answer === 'string' ? answer : new TextDecoder().decode(answer)) : answer
