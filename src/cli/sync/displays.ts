// Chooses the display of a sync: JSON lines, a redrawn board on a terminal, or plain lines.

import { type Board, boardOnTerminal } from '../terminal/board.ts'

import { errorJson, errorLines } from '../terminal/error-text.ts'
import { log, logLines, timestamp } from '../terminal/print.ts'
import { styleOf } from '../terminal/style.ts'
import { jsonDisplay } from './json-display.ts'
import { liveDisplay } from './live-display.ts'
import { plainDisplay } from './plain-display.ts'
import type { Display, DisplayOptions } from './progress.ts'

/** The displays of one command. */
export interface Displays {
  /** The display of a workspace. */
  of(workspaceId: string): Display
  /** Logs lines that concern no single workspace. */
  remark(...lines: string[]): void
  /** Prints the error that ended the workspace's sync. */
  failed(workspaceId: string, error: unknown): void
  /** Asks a person one question at a time; the board is not redrawn until the answer. */
  ask<T>(question: () => Promise<T>): Promise<T>
}

/** Asks each question after the previous one is answered. */
function inTurn(): Displays['ask'] {
  let last: Promise<unknown> = Promise.resolve()
  return question => {
    const answer = last.then(question)
    last = answer.catch(() => {})
    return answer
  }
}

/** `several`: the command syncs more than one workspace, so each failure names its own. `clock`: that of the syncs; default: the machine's. */
export async function chooseDisplays({ json, several, clock }: DisplayOptions & { json: boolean }): Promise<Displays> {
  const ask = inTurn()
  if (json)
    return {
      of: jsonDisplay,
      remark: log,
      ask,
      failed: (workspaceId, error) => log(JSON.stringify({ at: timestamp(), workspaceId, ...errorJson(error) })),
    }
  const board = await boardOnTerminal()
  const write: Displays['remark'] = board ? (...lines) => board.printAbove(logLines(lines)) : log
  return {
    of: workspaceId => displayOn(board, workspaceId, { several, clock }),
    remark: write,
    failed: (workspaceId, error) =>
      write(...errorLines(error, styleOf(process.stderr), several ? workspaceId : undefined)),
    ask: board ? question => ask(() => board.withoutDrawing(question)) : ask,
  }
}

/** The display of a workspace on the shared board; plain lines if `board` is null. */
export function displayOn(board: Board | null, workspaceId: string, options: DisplayOptions): Display {
  if (board) return liveDisplay(workspaceId, board, { style: styleOf(process.stderr), ...options })
  return plainDisplay(workspaceId, { to: process.stderr, result: process.stdout, ...options })
}
