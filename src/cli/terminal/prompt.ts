// Asking a person.
import { createInterface } from 'node:readline/promises'
import { ConvohouseError } from '../../core/errors.ts'
import { isTerminal } from './style.ts'

/** True where somebody sits there who can read a question and answer it. */
export const isInteractive = (): boolean => isTerminal(process.stdin) && isTerminal(process.stderr)

/** Asks; only `y` or `yes` is a yes. @throws INTERRUPTED where the signal ends the wait */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  // Not in terminal mode, which would take Ctrl-C for itself.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  try {
    const ended = new Promise<string>(resolve => lines.once('close', () => resolve('')))
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended])
    return /^y(es)?$/i.test(answer.trim())
  } catch (cause) {
    throw new ConvohouseError('INTERRUPTED', { what: 'Stopped at the question; nothing was bought.', cause })
  } finally {
    lines.close()
  }
}
