// Runs the built command on a pseudo-terminal of its own, as a person does, with util-linux's `script`.
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { stripVTControlCharacters } from 'node:util'
import { onTestFinished } from 'vitest'
import { MAIN } from './cli-process.ts'

export const CTRL_C = '\u0003'
export const CTRL_D = '\u0004'

/** Ends a test that hangs, with what was shown. Under load an answer may take ten times as long as on an idle machine. */
const WITHIN_MS = 400_000

interface OnTerminal {
  /** Types the keys, and resolves with everything shown since then once it contains the text; rejects if the command ends without it. */
  type(keys: string, until: string | RegExp): Promise<string>
  ended: Promise<{ code: number | null; shown: string }>
}

/** Starts the command on a terminal of 24 lines with 100 columns; it is killed when the test ends. */
export function onTerminal(args: string, env: Record<string, string>, command: string = MAIN): OnTerminal {
  const line = `stty rows 24 cols 100; exec '${process.execPath}' '${command}' ${args}`
  const { PATH = '', HOME = '' } = process.env
  const all = { PATH, HOME, TERM: 'xterm', SHELL: '/bin/sh', ...env }
  const terminal = spawn('script', ['-qec', line, '/dev/null'], { env: all, cwd: tmpdir() })
  onTestFinished(() => {
    terminal.kill()
  })
  let shown = ''
  terminal.stdout.setEncoding('utf8').on('data', piece => {
    shown += stripVTControlCharacters(piece)
  })
  const ended = new Promise<{ code: number | null; shown: string }>(resolve =>
    terminal.on('close', code => resolve({ code, shown })),
  )
  return {
    ended,
    type(keys, until) {
      const from = shown.length
      terminal.stdin.write(keys)
      return new Promise((resolve, reject) => {
        const fail = (why: string) => reject(new Error(`${why} ${until}:\n${shown.slice(from)}`))
        const late = setTimeout(() => fail('Nothing shown for'), WITHIN_MS)
        const look = () => {
          const since = shown.slice(from)
          if (typeof until === 'string' ? !since.includes(until) : !until.test(since)) return
          clearTimeout(late)
          terminal.stdout.off('data', look)
          resolve(since)
        }
        terminal.stdout.on('data', look)
        ended.then(() => fail('The command ended without'))
        look()
      })
    },
  }
}
