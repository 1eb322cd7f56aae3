// A service is told by SIGHUP to read its webhook secrets anew. In a terminal, which sends that when it is closed, it ends.
import type { Config } from '../../config.ts'
import { errorLines } from '../terminal/error-text.ts'
import { log } from '../terminal/print.ts'
import { listenInstead } from '../terminal/signals.ts'
import { isTerminal, styleOf } from '../terminal/style.ts'
import type { OpenedReceiver } from './open-receiver.ts'

/** Somebody sits there. */
const isInTerminal = (): boolean => [process.stdin, process.stdout, process.stderr].some(isTerminal)

/**
 * Listens until what is returned is called; to be called before anybody is told that the process can be stopped. `receiver` gives
 * undefined while there is none yet: a signal that comes so early changes nothing.
 */
export function rereadSecretsOnSighup(options: {
  receiver: () => OpenedReceiver | undefined
  /** @throws what is wrong with it */
  readConfig: () => Config
  tell: (receiver: OpenedReceiver) => void
}): () => void {
  if (isInTerminal()) return () => {}
  return listenInstead('SIGHUP', () => {
    const receiver = options.receiver()
    if (receiver === undefined) return
    try {
      receiver.readSecretsAnew(options.readConfig())
      options.tell(receiver)
    } catch (error) {
      log(...errorLines(error, styleOf(process.stderr)), 'The secrets of before stay valid.')
    }
  })
}
