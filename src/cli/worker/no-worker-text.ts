// What whoever waits for a worker is told.
import type { Absence } from '../../run/temporal/client/await-worker.ts'

const START = '`convohouse worker` or `convohouse up` starts one'

const HEADS: Record<Absence, (queue: string) => string> = {
  none: queue => `No worker has answered yet, and none takes tasks of the queue ${queue}: ${START}.`,
  silent: queue => `No worker has answered yet on the queue ${queue}; where none runs any more, ${START}.`,
}

/** In one line, with what becomes of that which was said to it. */
export const noWorkerText = (absence: Absence, queue: string, then = 'Waiting on.'): string =>
  `${HEADS[absence](queue)} ${then}`
