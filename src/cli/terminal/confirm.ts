// Asks a question on the terminal.
import { createInterface } from 'node:readline/promises'
import { ConvohouseError } from '../../core/errors.ts'
import { isTerminal } from './style.ts'

/** True if a person can read a question and answer it. */
export const isInteractive = (): boolean => isTerminal(process.stdin) && isTerminal(process.stderr)

/** Returns true only for `y` or `yes`. @throws INTERRUPTED, saying `stopped`, if the signal comes first */
export async function confirm(question: string, { signal, stopped }: { signal: AbortSignal; stopped: string }) {
  // With `terminal: true`, readline would intercept Ctrl-C.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  try {
    const ended = new Promise<string>(resolve => lines.once('close', () => resolve('')))
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended])
    return /^y(es)?$/i.test(answer.trim())
  } catch (cause) {
    throw new ConvohouseError('INTERRUPTED', { what: stopped, cause })
  } finally {
    lines.close()
  }
}
