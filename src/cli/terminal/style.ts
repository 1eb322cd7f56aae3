// Colours and weights, for streams that can show them.
import type { Writable } from 'node:stream'
import type { WriteStream } from 'node:tty'

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

/** Matches the codes of styles. */
export const SGR = new RegExp(`\\u001b\\[(?:0|${Object.values(CODES).join('|')})m`)

export type TextStyle = keyof typeof CODES
export type Style = (name: TextStyle, text: string) => string

export const plain: Style = (_name, text) => text

const sgr: Style = (name, text) => `\u001b[${CODES[name]}m${text}\u001b[0m`

/** True for a terminal. */
export const isTerminal = (stream: unknown): stream is WriteStream => (stream as Partial<WriteStream>).isTTY === true

/** Returns the style that a stream can show. Node's own `hasColors` reads NO_COLOR (no-color.org), FORCE_COLOR and TERM. */
export const styleOf = (stream: Writable): Style => (isTerminal(stream) && stream.hasColors() ? sgr : plain)
