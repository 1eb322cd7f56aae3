import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { needsTemporal } from './test/temporal-command.ts'

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

/** Whether its Temporal CLI is still on its way. */
const waits = ({ moduleId, project }: TestSpecification): boolean => {
  const { temporal } = project.getProvidedContext()
  return temporal !== null && 'verdict' in temporal && needsTemporal(moduleId)
}

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = (file: TestSpecification) => {
      if (waits(file)) return LONGEST.length + 1
      const place = LONGEST.findIndex(part => file.moduleId.includes(`/test/${part}`))
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
