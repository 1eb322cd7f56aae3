// Which of the displays a sync has.
import type { Board } from '../terminal/board.ts'
import { boardOnTerminal } from '../terminal/board-on-terminal.ts'
import { styleOf } from '../terminal/style.ts'
import { jsonDisplay } from './json-display.ts'
import { liveDisplay } from './live-display.ts'
import { plainDisplay } from './plain-display.ts'
import type { Display } from './progress.ts'

/**
 * Lines of JSON where they are asked for, redrawn lines on a terminal, plain lines elsewhere. It is on a board
 * of its own.
 */
export async function chooseDisplay(workspaceId: string, json: boolean): Promise<Display> {
  return json ? jsonDisplay(workspaceId) : displayOn(await boardOnTerminal(), workspaceId)
}

/** The display on a board, which those at the same time share; null: there is no terminal. */
export function displayOn(board: Board | null, workspaceId: string): Display {
  if (board) return liveDisplay(workspaceId, board, styleOf(process.stderr))
  return plainDisplay(workspaceId, process.stderr, process.stdout)
}
