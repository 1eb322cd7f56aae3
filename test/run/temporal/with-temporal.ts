// Tests that need the Temporal CLI, and the dev server that they share.
import { describe, inject, it } from 'vitest'

/** A block of tests with Temporal: skipped where there is no CLI, failing where that is so in CI. */
export function describeWithTemporal(name: string, tests: (command: string) => void): void {
  const command = inject('temporalCommand')
  if (command) return void describe(name, () => tests(command))
  if (!process.env.CI) return void describe.skip(name, () => it('needs the Temporal CLI', () => {}))
  describe(name, () => {
    it('has the Temporal CLI', () => {
      throw new Error('There is no Temporal CLI; `npm run temporal-cli` says why.')
    })
  })
}
