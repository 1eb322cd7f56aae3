// `up` with `serve` in the configuration: serves in a process of its own, which is restarted after a crash.
import type { Config } from '../../config.ts'
import { supervise } from '../../run/supervision/supervisor.ts'
import { configArgs } from '../flags/configuration.ts'
import { log } from '../terminal/print.ts'

/** Runs `work` while the process serves. Returns the exit code of a process that cannot begin, which has logged why. */
export async function besideServe(
  config: Config,
  path: string | undefined,
  work: () => Promise<number>,
): Promise<number> {
  if (!config.serve.isConfigured) return work()
  const supervisor = supervise({
    ...{ entry: process.argv[1]!, args: ['serve', '--supervised', ...configArgs(path)], remark: log },
    ...{ subject: 'The process that serves figures', isRestartedOnceReady: true },
  })
  if (!(await supervisor.held)) return supervisor.ended
  try {
    return await work()
  } finally {
    supervisor.stop()
    await supervisor.ended
  }
}
