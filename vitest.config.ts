import { readdirSync, readFileSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { needsTemporal } from './test/temporal-command.ts'

/** Tests run the command as if it were installed, so that its messages name it `convohouse`. */
process.env.PATH = [fileURLToPath(new URL('test/bin', import.meta.url)), process.env.PATH].join(delimiter)

/** `npm run test:fast`: rules and formats, which need neither a warehouse nor a build. */
const FAST = ['test/*.test.ts', 'test/{catalog,config,core,files,json,landing,receiver,spool,client}/**/*.test.ts']

/**
 * Tests that depend on process-wide state (umask, memory) or load a native runtime: a process per file. All others share a few
 * processes, since loading the modules of a file takes half a second.
 */
const ALONE = [
  'test/histories/**/*.test.ts',
  'test/run/temporal/{dev-server,runtime}.test.ts',
  'test/warehouse/query/socket.test.ts',
  'test/own-files.test.ts',
]

/** `npm run test:deep`: the files whose rounds or cases depend on the tier (`test/tier.ts`). */
const deepFiles = (): string[] =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map(path => join('test', path))
    .filter(path => path.endsWith('.test.ts') && readFileSync(path, 'utf8').includes("/tier.ts'"))

/** Whether the file has to wait for a Temporal CLI that is still being downloaded or built. */
const waits = ({ moduleId, project }: TestSpecification): boolean => {
  const { temporal } = project.getProvidedContext()
  return temporal !== null && 'verdict' in temporal && needsTemporal(moduleId)
}

/** A shared process ends where the next file belongs to another project, so each project's files run in one go. */
const PROJECTS = ['deep', 'alone', 'together', 'fast']

/**
 * The longest files and folders of a project begin first, since one that begins last runs alone on one core. On a fresh checkout
 * vitest knows no durations and would go by size. Many files wait for the corpus, which the first of its files builds.
 */
const LONG = `
  warehouse/corpus
  contract/workers contract/owner contract/sync-command contract/publishing contract/up contract/
  faults/disk faults/warehouse faults/second-process faults/kills faults/
  browser/ serve/readers serve/web serve/ vendor-model/with-duckdb vendor-model/
  publish/targets workflows/refresh-by-events run/replay run/expiry warehouse/marts/ cli/demo
  cli/publish steps/ run/ workflows/ cli/sync publish/ cli/ warehouse/`.match(/\S+/g)!

/** By project, and within it as `LONG` says, then as vitest does: the longest of the run before first. */
class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const turn = (file: TestSpecification) => (waits(file) ? PROJECTS.length : 0) + PROJECTS.indexOf(file.project.name)
    const length = ({ moduleId }: TestSpecification) => {
      const index = LONG.findIndex(name => relative('test', moduleId).startsWith(name))
      return index < 0 ? LONG.length : index
    }
    return (await super.sort(files)).sort((a, b) => turn(a) - turn(b) || length(a) - length(b))
  }
}

/** Workers in a test's own process load the workflows that the build has bundled: bundling takes four seconds a file. */
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

/** These end tests that hang. Under load a test may take ten times as long as on an idle machine, and must not fail for it. */
const TIMEOUTS = { testTimeout: 600_000, hookTimeout: 300_000 }

const usual = (): TestProjectConfiguration[] => [
  { ...BUILT, test: { name: 'alone', include: ALONE, ...TIMEOUTS } },
  // One project, since each transforms all modules for itself.
  { ...BUILT, test: { name: 'together', include: ['test/**/*.test.ts'], exclude: ALONE, isolate: false, ...TIMEOUTS } },
]

const fast = () => [{ test: { name: 'fast', include: FAST, exclude: ALONE, isolate: false, ...TIMEOUTS } }]

const deep = () => [{ ...BUILT, test: { name: 'deep', include: deepFiles(), env: { TEST_TIER: 'deep' }, ...TIMEOUTS } }]

export default defineConfig(({ mode }) => ({
  test: {
    globalSetup: ['test/temporal-command.ts', 'test/warehouse/corpus/setup.ts'],
    // For two cores: many tests wait for processes, servers and deadlines. With four workers, a quarter of both cores was idle.
    maxWorkers: 6,
    sequence: { sequencer: ByProject },
    projects: mode === 'deep' ? deep() : mode === 'fast' ? fast() : usual(),
  },
}))
