// Which of the displays a sync has.
import { isTerminal } from '../terminal/style.ts'
import { jsonDisplay } from './json-display.ts'
import { liveDisplay } from './live-display.ts'
import { plainDisplay } from './plain-display.ts'
import type { Display } from './progress.ts'

/** Lines of JSON where they are asked for, redrawn lines on a terminal, plain lines elsewhere. */
export function chooseDisplay(workspaceId: string, json: boolean): Display {
  if (json) return jsonDisplay(workspaceId)
  if (isTerminal(process.stderr)) return liveDisplay(workspaceId, process.stderr)
  return plainDisplay(workspaceId, process.stderr, process.stdout)
}
