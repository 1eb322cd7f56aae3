// The message of a command that waits for a Temporal worker.
import type { Absence } from '../run/temporal/client/await-worker.ts'

const START = 'start one with `convohouse worker` or `convohouse up`'

const HEADS: Record<Absence, (queue: string) => string> = {
  none: queue => `No worker has answered yet, and none polls the queue ${queue}: ${START}.`,
  silent: queue => `No worker has answered yet on the queue ${queue}; if none runs, ${START}.`,
}

/** The message in one line; `then` says what happens to the request until a worker runs. */
export const noWorkerText = (absence: Absence, queue: string, then = 'Still waiting.'): string =>
  `${HEADS[absence](queue)} ${then}`
