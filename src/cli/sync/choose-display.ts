// Which of the displays a sync has.
import { errorJson, errorLines } from '../failure/failure-text.ts'
import type { Board } from '../terminal/board.ts'
import { boardOnTerminal } from '../terminal/board-on-terminal.ts'
import { logged, remark, timeStamp } from '../terminal/say.ts'
import { styleOf } from '../terminal/style.ts'
import { jsonDisplay } from './json-display.ts'
import { liveDisplay } from './live-display.ts'
import { plainDisplay } from './plain-display.ts'
import type { Display } from './progress.ts'

/** What a command shows its syncs on. */
export interface Displays {
  /** Of a workspace: lines of JSON where they are asked for, redrawn lines on a terminal, plain lines elsewhere. */
  of(workspaceId: string): Display
  /** Writes lines that are about no workspace alone. */
  remark(...lines: string[]): void
  /** Tells an error that ended a sync. */
  failed(error: unknown): void
  /** Asks a person: one question at a time, and nothing is redrawn meanwhile. */
  ask<T>(question: () => Promise<T>): Promise<T>
}

/** One after the other, whoever asks. */
function inTurn(): Displays['ask'] {
  let last: Promise<unknown> = Promise.resolve()
  return question => {
    const answer = last.then(question)
    last = answer.catch(() => {})
    return answer
  }
}

export async function chooseDisplays(json: boolean): Promise<Displays> {
  const ask = inTurn()
  if (json)
    return {
      of: jsonDisplay,
      remark,
      ask,
      failed: error => remark(JSON.stringify({ at: timeStamp(), ...errorJson(error) })),
    }
  const board = await boardOnTerminal()
  const write: Displays['remark'] = board ? (...lines) => board.stay(logged(lines)) : remark
  return {
    of: workspaceId => displayOn(board, workspaceId),
    remark: write,
    failed: error => write(...errorLines(error, styleOf(process.stderr))),
    ask: board ? question => ask(() => board.aside(question)) : ask,
  }
}

/** The display on a board, which those at the same time share; null: there is no terminal. */
export function displayOn(board: Board | null, workspaceId: string): Display {
  if (board) return liveDisplay(workspaceId, board, styleOf(process.stderr))
  return plainDisplay(workspaceId, process.stderr, process.stdout)
}
