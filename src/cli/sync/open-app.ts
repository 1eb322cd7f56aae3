// Opening the warehouse to write, with a little patience: a query that has it open for reading is soon done.
import { setTimeout as sleep } from 'node:timers/promises'
import { type App, type AppOptions, openApp } from '../../app.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'

const PATIENCE_MS = 2 * SECOND
const TRY_EVERY_MS = 100

/** It may be a worker's, who could do what was asked. */
const heldByOther = ({ message, hint = '', facts, cause }: ConvohouseError): ConvohouseError =>
  new ConvohouseError('WAREHOUSE_LOCKED', {
    what: message,
    hint: `${hint} Where a worker of Temporal holds it: \`convohouse sync --on temporal\`.`,
    facts,
    cause,
  })

/** @throws WAREHOUSE_LOCKED where another process still holds it after two seconds; WAREHOUSE_NEWER, HOME_UNUSABLE */
export async function openAppWhenReleased(config: Config, onQuery?: AppOptions['onQuery']): Promise<App> {
  const untilMs = systemClock.now() + PATIENCE_MS
  for (;;) {
    try {
      return await openApp({ config, ...(onQuery && { onQuery }) })
    } catch (error) {
      if (!isCode(error, 'WAREHOUSE_LOCKED')) throw error
      if (systemClock.now() > untilMs) throw heldByOther(error)
      await sleep(TRY_EVERY_MS)
    }
  }
}
