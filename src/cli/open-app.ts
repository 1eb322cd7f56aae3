// Opens the warehouse for writing, and answers plans from then on. Retries for two seconds, since a query may hold it open for reading.
import { setTimeout as sleep } from 'node:timers/promises'
import { openStores } from '../app/stores.ts'
import { type App, type AppOptions, openApp } from '../app.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { ConvohouseError, isCode } from '../core/errors.ts'
import { SECOND } from '../core/time.ts'
import { counted } from '../core/words.ts'
import { pendingErasures } from '../landing/tombstones.ts'
import { finishErasures } from '../run/erasures.ts'
import { YIELD_PATH } from '../serve/own-snapshot.ts'
import type { MetricsPage } from '../telemetry/page.ts'
import { type ProcessRole, processMetrics } from '../telemetry/process-metrics.ts'
import { askHolder } from '../warehouse/query/http/holder-client.ts'
import { packageFacts } from './package-facts.ts'
import { answerPlan, PLAN_PATH } from './plan.ts'
import { log } from './terminal/print.ts'

const PATIENCE_MS = 2 * SECOND
const TRY_EVERY_MS = 100
/** A publication that is asked to give way ends within this time. */
const YIELD_WITHIN_MS = 15 * SECOND

/** Asks the process that holds the warehouse to give way. @returns true if it does: it publishes the snapshot of `serve` */
export const asksToYield = ({ home }: Config): Promise<boolean> =>
  askHolder({ home, path: YIELD_PATH, question: {}, timeoutMs: PATIENCE_MS }).then(
    () => true,
    () => false,
  )

/** Returns the error with a longer hint: a Temporal worker that holds the warehouse can run the sync itself. */
const heldByOther = ({ message, hint = '', facts, cause }: ConvohouseError): ConvohouseError =>
  new ConvohouseError('WAREHOUSE_LOCKED', {
    what: message,
    hint: `${hint} If a Temporal worker holds it, run \`convohouse sync --on temporal\`.`,
    facts,
    cause,
  })

/** Erases what `forget` has left to the next process that writes. @throws WAREHOUSE_LOCKED, and the errors of `replay` */
async function finishPending(config: Config, isFirst: boolean): Promise<void> {
  const pending = await pendingErasures(config.home)
  if (pending.length === 0) return
  if (isFirst) log(`Finishing ${counted(pending.length, 'erasure')}: the warehouse is rebuilt.`)
  await finishErasures(config)
}

/** @throws WAREHOUSE_LOCKED if another process still holds the warehouse after two seconds; WAREHOUSE_LAYOUT, HOME_UNUSABLE */
export async function openAppWhenReleased(config: Config, onQuery?: AppOptions['onQuery']): Promise<App> {
  let untilMs = systemClock.now() + PATIENCE_MS
  let isYielded = false
  for (let tries = 0; ; tries++) {
    try {
      await finishPending(config, tries === 0)
      const app = await openApp({ config, ...(onQuery && { onQuery }) })
      app.questions.set(PLAN_PATH, answerPlan({ config, app, beside: true }))
      return app
    } catch (error) {
      if (!isCode(error, 'WAREHOUSE_LOCKED')) throw error
      if (!isYielded && (await asksToYield(config))) {
        isYielded = true
        untilMs += YIELD_WITHIN_MS
      }
      if (systemClock.now() > untilMs) throw heldByOther(error)
      await sleep(TRY_EVERY_MS)
    }
  }
}

export const metricsOf = (config: Config, role: ProcessRole): MetricsPage =>
  processMetrics({ config, stores: openStores(config.home), role, version: packageFacts().version })
