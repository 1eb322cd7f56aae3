import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest files first: begun last, a file of two minutes would run alone at the end. */
const LONGEST = [
  'workflows/soak',
  'workflows/month',
  'faults/kill',
  'workflows/faults',
  'cli/sync',
  'contract/',
  'workflows/',
  'core/planner',
  'cli/',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.findIndex(part => moduleId.includes(`/test/${part}`))
      return place < 0 ? LONGEST.length : place
    }
    return [...files].sort((a, b) => rank(a) - rank(b) || (a.moduleId < b.moduleId ? -1 : 1))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/temporal-command.ts',
    // Two cores, and one more: many tests wait for processes and disks.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    testTimeout: 180_000,
    hookTimeout: 60_000,
  },
})
