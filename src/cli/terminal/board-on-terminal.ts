// The board of this process. What redraws is read only where there is a terminal: its tables of characters take longer than
// to read all the rest of a command.
import type { Board } from './board.ts'
import { isTerminal } from './style.ts'

/** A board on standard error; null where that is no terminal. */
export async function boardOnTerminal(): Promise<Board | null> {
  if (!isTerminal(process.stderr)) return null
  const { boardOn } = await import('./board.ts')
  return boardOn(process.stderr)
}
