// Tests that need the Temporal CLI, and the dev server that they share.
import { describe, inject, it } from 'vitest'

/** A block of tests with Temporal: skipped where there is no CLI. */
export function describeWithTemporal(name: string, tests: (command: string) => void): void {
  const command = inject('temporalCommand')
  if (command) return void describe(name, () => tests(command))
  describe.skip(name, () => it('needs the Temporal CLI', () => {}))
}
