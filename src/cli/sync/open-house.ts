// Opening the warehouse to write, with a little patience: a query that has it open for reading is soon done.
import { setTimeout as sleep } from 'node:timers/promises'
import { type House, openHouse } from '../../app.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import { isCode } from '../../core/errors.ts'
import { SECOND } from '../../core/time.ts'

const PATIENCE_MS = 2 * SECOND
const TRY_EVERY_MS = 100

/** @throws WAREHOUSE_LOCKED where another process still holds it after two seconds; WAREHOUSE_NEWER, HOME_UNUSABLE */
export async function openHouseSoon(config: Config): Promise<House> {
  const untilMs = systemClock.now() + PATIENCE_MS
  for (;;) {
    try {
      return await openHouse({ config })
    } catch (error) {
      if (!isCode(error, 'WAREHOUSE_LOCKED') || systemClock.now() > untilMs) throw error
      await sleep(TRY_EVERY_MS)
    }
  }
}
