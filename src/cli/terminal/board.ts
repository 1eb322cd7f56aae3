// Named sections at the bottom of the terminal that are redrawn in place. Permanent lines are printed above them.
import type { Writable } from 'node:stream'
import type { WriteStream } from 'node:tty'
import { asRunHere } from './command-name.ts'
import { forTerminal } from './controls.ts'
import { isTerminal } from './style.ts'

const REDRAW_EVERY_MS = 200

/** A stream with the terminal's size. */
type Screen = Writable & Pick<WriteStream, 'columns' | 'rows'>

export interface Board {
  /** Shows a section; `lines` is called at each redraw. */
  show(name: string, lines: () => string[]): void
  /** Removes a section. Without sections the terminal is released. */
  hide(name: string): void
  /** Prints permanent lines above the sections. */
  printAbove(lines: readonly string[]): void
  /** Stops drawing while `work` uses the terminal. */
  withoutDrawing<T>(work: () => Promise<T>): Promise<T>
}

/** Returns the lines to draw: all if they fit, else the first line of each section, else the first lines of as many sections as fit. */
export function fitting(sections: readonly (readonly string[])[], rows: number): string[] {
  const all = sections.flat()
  if (all.length < rows) return all
  const heads = sections.flatMap(([head]) => head ?? [])
  if (heads.length < rows) return heads
  const shown = Math.max(1, rows - 2)
  return [...heads.slice(0, shown), `… and ${heads.length - shown} more`]
}

/** Creates a board. log-update is imported on demand: its character tables take longer to load than the rest of a command. */
export async function boardOn(to: Screen): Promise<Board> {
  const { createLogUpdate } = await import('log-update')
  const draw = createLogUpdate(to)
  const sections = new Map<string, () => string[]>()
  let timer: NodeJS.Timeout | undefined
  let suspended = false
  const redraw = () => {
    if (suspended) return
    const lines = [...sections.values()].map(give => give())
    draw(forTerminal(to, asRunHere(fitting(lines, to.rows).join('\n'))))
  }
  return {
    show(name, lines) {
      sections.set(name, lines)
      timer ??= setInterval(redraw, REDRAW_EVERY_MS).unref()
      redraw()
    },
    hide(name) {
      sections.delete(name)
      draw.clear()
      if (sections.size > 0) return redraw()
      clearInterval(timer)
      timer = undefined
      // Shows the cursor again.
      draw.done()
    },
    printAbove(lines) {
      draw.clear()
      to.write(forTerminal(to, asRunHere(`${lines.join('\n')}\n`)))
      if (sections.size > 0) redraw()
    },
    async withoutDrawing(work) {
      draw.clear()
      draw.done()
      suspended = true
      try {
        return await work()
      } finally {
        suspended = false
        if (sections.size > 0) redraw()
      }
    },
  }
}

/** Returns a board on standard error; null if standard error is not a terminal. */
export async function boardOnTerminal(): Promise<Board | null> {
  return isTerminal(process.stderr) ? boardOn(process.stderr) : null
}
