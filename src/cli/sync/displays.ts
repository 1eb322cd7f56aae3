// Which of the displays a sync has.

import { type Board, boardOnTerminal } from '../terminal/board.ts'

import { errorJson, errorLines } from '../terminal/error-text.ts'
import { log, logLines, timestamp } from '../terminal/print.ts'
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
  /** Tells an error that ended a sync of that workspace. */
  failed(workspaceId: string, error: unknown): void
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

/** `several`: of more than one workspace, so that each failure names its own. */
export async function chooseDisplays({ json, several }: { json: boolean; several: boolean }): Promise<Displays> {
  const ask = inTurn()
  if (json)
    return {
      of: jsonDisplay,
      remark: log,
      ask,
      failed: (workspaceId, error) => log(JSON.stringify({ at: timestamp(), workspaceId, ...errorJson(error) })),
    }
  const board = await boardOnTerminal()
  const write: Displays['remark'] = board ? (...lines) => board.stay(logLines(lines)) : log
  return {
    of: workspaceId => displayOn(board, workspaceId, several),
    remark: write,
    failed: (workspaceId, error) =>
      write(...errorLines(error, styleOf(process.stderr), several ? workspaceId : undefined)),
    ask: board ? question => ask(() => board.aside(question)) : ask,
  }
}

/** The display on a board, which those at the same time share; null: there is no terminal. */
export function displayOn(board: Board | null, workspaceId: string, several: boolean): Display {
  if (board) return liveDisplay(workspaceId, board, { style: styleOf(process.stderr), several })
  return plainDisplay(workspaceId, { to: process.stderr, result: process.stdout, several })
}
