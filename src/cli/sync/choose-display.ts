// Which of the displays a sync has.
import type { Board } from '../terminal/board.ts'
import { boardOnTerminal } from '../terminal/board-on-terminal.ts'
import { remark } from '../terminal/say.ts'
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
}

export async function chooseDisplays(json: boolean): Promise<Displays> {
  if (json) return { of: jsonDisplay, remark }
  const board = await boardOnTerminal()
  return {
    of: workspaceId => displayOn(board, workspaceId),
    remark: board ? (...lines) => board.stay(lines) : remark,
  }
}

/** The display on a board, which those at the same time share; null: there is no terminal. */
export function displayOn(board: Board | null, workspaceId: string): Display {
  if (board) return liveDisplay(workspaceId, board, styleOf(process.stderr))
  return plainDisplay(workspaceId, process.stderr, process.stdout)
}
