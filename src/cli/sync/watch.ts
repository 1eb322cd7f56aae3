// Watch mode: the syncs run in a child process, which holds the warehouse and is restarted after a crash. This process serves metrics.
import { restrictUmask } from '../../files/durable.ts'
import { supervise } from '../../run/supervision/supervisor.ts'
import { listenForScrapes } from '../../telemetry/listen.ts'
import { configAt } from '../flags/configuration.ts'
import type { SyncFlags } from '../flags/sync-flags.ts'
import { metricsOf } from '../open-app.ts'
import { log, stampLines } from '../terminal/print.ts'
import { stopOnSignals } from '../terminal/signals.ts'

/** Runs `convohouse sync --watch` with these arguments in a supervised child; returns the exit code. */
export async function superviseSync(args: readonly string[]): Promise<number> {
  restrictUmask()
  const all = [...args, '--supervised']
  const supervisor = supervise({
    ...{ entry: process.argv[1]!, args: all, sharesTerminal: true, endsByItself: true, remark: log },
  })
  const stop = stopOnSignals()
  for (const signal of [stop.stopping, stop.aborted]) signal.addEventListener('abort', supervisor.stop, { once: true })
  return supervisor.ended.finally(stop.release)
}

/** Runs this command again, in a child; returns the exit code. @throws CONFIG_INVALID, CONFIG_MISSING, ADDRESS_IN_USE */
export async function watchInChild(flags: SyncFlags): Promise<number> {
  const config = configAt(flags.config)
  if (!flags.json) stampLines()
  const at = flags.telemetry ?? config.telemetry
  const listener = at === null ? null : await listenForScrapes(metricsOf(config, 'watch'), at)
  try {
    if (listener) log(`Metrics at ${listener.url}.`)
    return await superviseSync(process.argv.slice(2))
  } finally {
    await listener?.close()
  }
}
