// Which of the displays a sync has.
import { type Board, boardOnTerminal } from '../terminal/board.ts'
import { styleOf } from '../terminal/style.ts'
import { jsonDisplay } from './json-display.ts'
import { liveDisplay } from './live-display.ts'
import { plainDisplay } from './plain-display.ts'
import type { Display } from './progress.ts'

/**
 * Lines of JSON where they are asked for, redrawn lines on a terminal, plain lines elsewhere. Displays at the same time share a
 * board; null: there is no terminal.
 */
export function chooseDisplay(workspaceId: string, json: boolean, board: Board | null = boardOnTerminal()): Display {
  if (json) return jsonDisplay(workspaceId)
  if (board) return liveDisplay(workspaceId, board, styleOf(process.stderr))
  return plainDisplay(workspaceId, process.stderr, process.stdout)
}
