// Tests that need the Temporal CLI. Whoever imports this waits until it is there, or known not to come.
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, inject, it } from 'vitest'
import type { TemporalVerdict } from '../../temporal-command.ts'

async function verdict(): Promise<TemporalVerdict> {
  const temporal = inject('temporal')
  if (temporal === null) throw new Error('vitest knew of no file that needs Temporal')
  if ('command' in temporal) return temporal
  for (;;) {
    const told = await readFile(temporal.verdict, 'utf8').catch(() => null)
    if (told !== null) return JSON.parse(told) as TemporalVerdict
    await sleep(200)
  }
}

const found = await verdict()

/** A block of tests with Temporal. Without its CLI it fails in CI, and is skipped elsewhere. */
export function describeWithTemporal(name: string, tests: (command: string) => void): void {
  if (found.command !== null) {
    const { command } = found
    return void describe(name, () => tests(command))
  }
  const { reason } = found
  const missing = () => {
    throw new Error(reason)
  }
  describe.skipIf(!process.env.CI)(name, () => it('needs the Temporal CLI', missing))
}
