import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { needsTemporal } from './test/temporal-command.ts'

/**
 * What measures its process or minds it (its umask, which an open house narrows), and what keeps a native runtime in it: each of
 * these files has a process of its own. The others take turns in a few, since to load the modules of a file takes half a second.
 */
const ALONE = [
  'test/{contract,deploy,histories}/**/*.test.ts',
  'test/run/temporal/**/*.test.ts',
  'test/workflows/{bundle,month,soak}.test.ts',
  'test/cli/doctor/doctor.test.ts',
  'test/warehouse/{maintenance/memory-limit,maintenance/spill,query/http,query/socket}.test.ts',
  'test/sandbox/world.test.ts',
  'test/own-files.test.ts',
]

/** What looks on commands, each in a process of its own, and opens no house in this one: the umask that it hands on stays as it was. */
const COMMANDS = [
  'test/contract/{backfill,hour,kills,sync-command,up,up-progress,upgrade,workers,zombies}.test.ts',
  'test/deploy/**/*.test.ts',
  'test/faults/!(clock|landing|ledger).test.ts',
]

/** The longest files first: begun last, a file of two minutes would run alone at the end. */
const LONGEST = [
  'workflows/soak',
  'faults/kill',
  'contract/zombies',
  'contract/',
  'deploy/',
  'faults/',
  'workflows/again',
  'workflows/fault',
  'workflows/vendor-faults',
  'workflows/odd-times',
  'cli/sync',
  'workflows/',
  'core/planner',
  'warehouse/',
  'cli/',
]

/** Whether its Temporal CLI is still on its way. */
const waits = ({ moduleId, project }: TestSpecification): boolean => {
  const { temporal } = project.getProvidedContext()
  return temporal !== null && 'verdict' in temporal && needsTemporal(moduleId)
}

/** A process that several files share ends where the next file is of another project: so these come one after the other. */
const PROJECTS = ['alone', 'commands', 'together']

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = (file: TestSpecification) => {
      const place = LONGEST.findIndex(part => file.moduleId.includes(`/test/${part}`))
      return place < 0 ? LONGEST.length : place
    }
    const turn = (file: TestSpecification) => (waits(file) ? PROJECTS.length : 0) + PROJECTS.indexOf(file.project.name)
    return [...files].sort((a, b) => turn(a) - turn(b) || rank(a) - rank(b) || (a.moduleId < b.moduleId ? -1 : 1))
  }
}

/** Workers in a test's own process take the workflows as the build has bundled them: to bundle them takes each file four seconds. */
const BUILT = {
  resolve: {
    alias: [
      {
        find: /^.*\/workflow-code\.ts$/,
        replacement: fileURLToPath(new URL('dist/src/run/workflow-code.js', import.meta.url)),
      },
    ],
  },
}

const TIMEOUTS = { testTimeout: 180_000, hookTimeout: 60_000 }

export default defineConfig({
  test: {
    globalSetup: 'test/temporal-command.ts',
    // Two cores, and two more: many tests wait for processes, disks and servers. With one more, a fifth of both cores was idle.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      { ...BUILT, test: { name: 'alone', include: ALONE, exclude: COMMANDS, ...TIMEOUTS } },
      { test: { name: 'commands', include: COMMANDS, isolate: false, ...TIMEOUTS } },
      {
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...ALONE, ...COMMANDS],
          isolate: false,
          ...TIMEOUTS,
        },
      },
    ],
  },
})
