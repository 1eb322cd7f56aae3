// Opens the warehouse for writing. It retries for two seconds, since a query may have it open for reading.
import { setTimeout as sleep } from 'node:timers/promises'
import { type App, type AppOptions, openApp } from '../../app.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import { ConvohouseError, isCode } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'

const PATIENCE_MS = 2 * SECOND
const TRY_EVERY_MS = 100

/** Adds a hint: if a Temporal worker holds the warehouse, it can run the sync. */
const heldByOther = ({ message, hint = '', facts, cause }: ConvohouseError): ConvohouseError =>
  new ConvohouseError('WAREHOUSE_LOCKED', {
    what: message,
    hint: `${hint} If a Temporal worker holds it: \`convohouse sync --on temporal\`.`,
    facts,
    cause,
  })

/** @throws WAREHOUSE_LOCKED if another process still holds it after two seconds; WAREHOUSE_NEWER, HOME_UNUSABLE */
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
