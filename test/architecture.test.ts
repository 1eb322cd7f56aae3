// Checks every source file: which modules it may import, its name and its length.
import { existsSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findCycle, root, type SourceFile, sourceFile, sourcesBelow, withoutComments } from './import-graph.ts'

/**
 * Imports point from a later line to an earlier one. Modules on one line do not import each other. A module is a folder
 * of `src`, together with the file of the same name.
 */
const TIERS = [
  ['core'],
  ['json'],
  ['catalog', 'files'],
  ['client', 'landing', 'spool', 'warehouse', 'sandbox', 'config', 'clock'],
  ['reports', 'metrics', 'api'],
  ['telemetry'],
  ['receiver', 'publish'],
  ['steps'],
  ['app'],
  ['run'],
  ['serve'],
  ['cli'],
]

const moduleOf = (path: string): string => path.split('/')[1]!.replace(/\.ts$/, '')
const tierOf = (path: string): number => TIERS.findIndex(modules => modules.includes(moduleOf(path)))
const isWorkflow = (path: string): boolean => path.startsWith('workflows/')

function mayImport(from: string, to: string): boolean {
  if (isWorkflow(from)) return isWorkflow(to) || to.startsWith('src/core/')
  // Only the modules that supply the steps of the orchestration, and its hosts, import it.
  if (isWorkflow(to)) return tierOf(from) >= tierOf('src/steps.ts')
  if (moduleOf(from) === moduleOf(to)) return true
  // The sandbox is written from the API document alone, so that it reveals wrong assumptions of client and catalog.
  if (moduleOf(from) === 'sandbox') return moduleOf(to) === 'core'
  return tierOf(to) < tierOf(from)
}

const forbiddenImports = (sources: readonly SourceFile[]): string[] =>
  sources.flatMap(({ path, files }) => files.filter(file => !mayImport(path, file)).map(file => `${path} → ${file}`))

const isBuiltin = (name: string): boolean => name.startsWith('node:') || builtinModules.includes(name.split('/')[0]!)
/** The files of the Temporal workflows, which host the orchestration. */
const isShell = (path: string): boolean => path === 'workflows/index.ts' || path.startsWith('workflows/temporal/')
const isPure = (path: string): boolean => path.startsWith('src/core/') || isWorkflow(path)

const importersOf = (sources: readonly SourceFile[], name: string): string[] =>
  sources.filter(({ packages }) => packages.includes(name)).map(({ path }) => path)

/** Returns the files whose code matches, comments excluded. */
const matching = (sources: readonly SourceFile[], pattern: RegExp): string[] =>
  sources.filter(({ text }) => pattern.test(withoutComments(text))).map(({ path }) => path)

/** Code that builds a path inside the landing. */
const JOINS_LANDING = /(join|resolve)\([^)]*['"`]landing['"`/]|\}\/landing\b/

const sources = [...sourcesBelow('src'), ...sourcesBelow('workflows')]
const tests = sourcesBelow('test')

describe('the modules', () => {
  it('are all read', () => {
    expect(sources.length).toBeGreaterThan(50)
    expect(sources.reduce((sum, { files }) => sum + files.length, 0)).toBeGreaterThan(150)
  })

  it('have a tier each', () => {
    const untiered = sources.filter(({ path }) => !isWorkflow(path) && tierOf(path) < 0).map(({ path }) => path)
    expect(untiered).toEqual([])
  })

  it('import one way: never a later tier, never another module of the same tier', () => {
    expect(forbiddenImports(sources)).toEqual([])
  })

  it('have no import cycle', () => {
    expect(findCycle(sources)).toBeUndefined()
  })

  it('import existing files, by their full names', () => {
    const broken = sources.flatMap(({ path, files }) =>
      files
        .filter(file => !/\.(tsx?|json)$/.test(file) || !existsSync(join(root, file)))
        .map(file => `${path} → ${file}`),
    )
    expect(broken).toEqual([])
  })

  it('import nothing by a computed name', () => {
    const computed = sources.flatMap(({ path, packages }) =>
      packages.filter(name => !/^(node:)?@?[\w./-]+$/.test(name)).map(name => `${path} → ${name}`),
    )
    expect(computed).toEqual([])
  })
})

describe('core and workflows', () => {
  const pure = sources.filter(({ path }) => isPure(path))

  it('import no Node built-in', () => {
    expect(pure.flatMap(({ path, packages }) => packages.filter(isBuiltin).map(name => `${path} → ${name}`))).toEqual(
      [],
    )
  })

  it('take now, randomness and ids as arguments', () => {
    // Within a workflow, `Date.now` is the workflow's own time.
    const inner = pure.filter(({ path }) => !isShell(path))
    expect(matching(inner, /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\brandomUUID\b|\bperformance\b/)).toEqual([])
  })

  it('use neither the process, nor the network, nor timers', () => {
    expect(matching(pure, /\bprocess\.|\bBuffer\b|\bfetch\(|\bset(Timeout|Interval|Immediate)\b|\bconsole\./)).toEqual(
      [],
    )
  })
})

describe('the package', () => {
  it('of DuckDB is imported only by the warehouse and for targets of publications', () => {
    const importers = importersOf(sources, '@duckdb/node-api')
    expect(importers.length).toBeGreaterThan(0)
    expect(importers.filter(path => !['warehouse', 'publish'].includes(moduleOf(path)))).toEqual([])
  })

  it('of Temporal for workflows is imported only by its shell', () => {
    expect(importersOf(sources, '@temporalio/workflow').filter(path => !isShell(path))).toEqual([])
  })

  it('undici is imported only by the API client, except in the sandbox', () => {
    expect(importersOf(sources, 'undici').filter(path => !['client', 'sandbox'].includes(moduleOf(path)))).toEqual([])
  })
})

describe('the landing', () => {
  const outside = sources.filter(({ path }) => moduleOf(path) !== 'landing')
  const importersOfFiles = (pattern: RegExp): string[] =>
    outside.filter(({ files }) => files.some(file => pattern.test(file))).map(({ path }) => path)

  it('and the lease log are opened only by the composition root', () => {
    expect(importersOfFiles(/^src\/landing\/folder-/)).toEqual(['src/app/stores.ts'])
  })

  it('is used elsewhere only through its ports, page heads and addresses', () => {
    const known = ['access-tokens', 'landing', 'lease-log', 'page', 'page-address', 'tombstones'].map(
      name => `src/landing/${name}.ts`,
    )
    const imported = outside
      .filter(({ path }) => path !== 'src/app/stores.ts')
      .flatMap(({ path, files }) =>
        files.filter(file => file.startsWith('src/landing/') && !known.includes(file)).map(file => `${path} → ${file}`),
      )
    expect(imported).toEqual([])
  })

  it('is the only module that builds its paths', () => {
    expect(matching(outside, JOINS_LANDING)).toEqual([])
    for (const code of ["join(home, 'landing')", "join(\n  home,\n  'landing', id)", '{home}/landing/{id}'])
      expect(code).toMatch(JOINS_LANDING)
  })
})

describe('the client of the whole API', () => {
  it('is imported only by its command: a sync has no method that writes to the vendor', () => {
    const importers = sources.filter(({ path, files }) => {
      const isOwn = ['src/api.ts', 'src/client/api/', 'src/cli/api/'].some(own => path.startsWith(own))
      return !isOwn && files.some(file => file === 'src/api.ts' || file.startsWith('src/client/api/'))
    })
    expect(importers.map(({ path }) => path)).toEqual([])
    expect(sources.some(({ files }) => files.includes('src/client/api/api-client.ts'))).toBe(true)
  })

  it("and that of a sync are the only users of the caller, and a sync's makes only GETs", () => {
    const importers = sources.filter(({ files }) => files.includes('src/client/caller.ts')).map(({ path }) => path)
    expect(importers.filter(path => !path.startsWith('src/client/api/'))).toEqual([
      'src/api.ts',
      'src/client/client.ts',
    ])
    const client = sources.find(({ path }) => path === 'src/client/client.ts')!
    expect(client.text).toContain('Caller<ReadTarget> = createCaller(options)')
  })
})

describe('the configuration', () => {
  /** Environment variables that describe a terminal's capabilities by convention; they are not settings of convohouse. */
  const TERMINAL = 'NO_COLOR|FORCE_COLOR|TERM|COLUMNS|CI|DEBUG|PAGER'

  // The process of a target passes its password to libpq in a variable that it writes and never reads.
  it('is the only reader of the environment, except for variables about the terminal in the command line', () => {
    const readers = matching(sources, /\bprocess\.env\b(?!\[PASSWORD_VARIABLE\] = )(?<!delete process\.env)/).filter(
      path => path !== 'src/config.ts',
    )
    const cli = readers.filter(path => moduleOf(path) === 'cli')
    expect(readers.filter(path => !cli.includes(path))).toEqual([])
    const others = new RegExp(`\\bprocess\\.env(?!\\.(?:${TERMINAL})\\b)`)
    expect(
      matching(
        sources.filter(({ path }) => cli.includes(path)),
        others,
      ),
    ).toEqual([])
  })

  it('is the only reader of its file', () => {
    // The others read the user's metrics and pages, and write YAML.
    const others = ['src/metrics/yaml-files.ts', 'src/publish/dbt-properties.ts']
    expect(importersOf(sources, 'yaml').sort()).toEqual(['src/config.ts', ...others])
    const [writer] = sources.filter(({ path }) => path === 'src/publish/dbt-properties.ts')
    expect(writer!.text).toContain("import { stringify } from 'yaml'")
  })
})

describe("a vendor's text", () => {
  const NAMES =
    '(?:[aA]gent|[cC]onvo|[cC]onversation|[oO]rganization|[tT]eam|[uU]ser|[oO]wner|[wW]orkspace|[mM]odel)I[dD]'
  const TEXT = `(?:\\w+\\.)*(?:\\w*${NAMES}|id|ID|agent|tag|model|variable)!?`
  /** A member with an id as its name, or a `Map` that becomes an object. */
  const KEYS_AN_OBJECT = new RegExp(
    `[\\w.]*[\\w\\])]\\[${TEXT}\\]|[{,]\\s*\\[${TEXT}\\]:|Object\\.fromEntries\\(\\[\\.{3}\\w+\\]\\.map`,
    'g',
  )
  const found = (code: string): string[] => [...withoutComments(code).matchAll(KEYS_AN_OBJECT)].map(([match]) => match)
  /** Keys that are our own names (settings, placeholders of paths, columns), and indexes of lists. */
  const OWN_KEYS = [
    'src/cli/api/api.ts: given[id]',
    'src/cli/api/arguments.ts: found[id]',
    'src/client/api/target.ts: given[id]',
    'src/config.ts: env[ENV_NAMES.id]',
    'src/warehouse/events/resources.ts: payload[type.reportedResource.id]',
    'src/warehouse/load/stage.ts: keys[id]',
  ]

  it('is no key of an object, because each object has members such as `constructor`', () => {
    const others = sources.filter(({ path }) => moduleOf(path) !== 'sandbox')
    expect(others.flatMap(({ path, text }) => found(text).map(match => `${path}: ${match}`)).sort()).toEqual(OWN_KEYS)
  })

  it.each([
    'refresh[agentId] ?? []',
    'ids[row.agentId]',
    'held[key.id]!',
    '{ [first.agentId]: [] }',
    'Object.fromEntries([...byAgent].map(pair))',
  ])('is seen in %s', code => expect(found(code)).toHaveLength(1))

  it.each([
    'rows[0]',
    'ids: string[]',
    'Array.from([id])',
    '[agentId, ids]',
    'new Map([[agentId, ids]])',
    '(await [id])',
  ])('is not seen in %s', code => expect(found(code)).toEqual([]))
})

describe('a file', () => {
  it('has a name that says what it is about', () => {
    const vague = /^(utils?|helpers?|common|index|lib|misc|shared|types|interfaces)\.ts$/
    const named = [...sources, ...tests].filter(
      ({ path }) => vague.test(basename(path)) && path !== 'workflows/index.ts',
    )
    expect(named.map(({ path }) => path)).toEqual([])
  })

  it('is in no folder of miscellaneous things', () => {
    const vague = /\/(utils?|helpers?|common|lib|misc|shared)\//
    expect([...sources, ...tests].filter(({ path }) => vague.test(path)).map(({ path }) => path)).toEqual([])
  })

  it('has at most 450 lines', () => {
    const long = [...sources, ...tests].filter(({ text }) => text.split('\n').length > 451)
    expect(long.map(({ path }) => path)).toEqual([])
  })
})

describe('these rules', () => {
  const of = (path: string, text: string) => sourceFile(path, text)

  it.each([
    ['static', `import { a } from '../client/client.ts'`],
    ['of types', `import type { A } from '../client/client.ts'`],
    ['over several lines', `import {\n  a,\n  b,\n} from '../client/client.ts'`],
    ['for its effects', `import '../client/client.ts'`],
    ['a re-export', `export { a } from '../client/client.ts'`],
    ['dynamic', `const a = await import('../client/client.ts')`],
  ])('see an import that is %s', (_how, text) => {
    expect(of('src/landing/page.ts', text).files).toEqual(['src/client/client.ts'])
  })

  it.each([
    ['src/core/time.ts', 'src/catalog/shape.ts', false],
    ['src/catalog/inspection/inspect.ts', 'src/core/time.ts', true],
    ['src/landing/page.ts', 'src/client/client.ts', false],
    ['src/sandbox/server.ts', 'src/client/envelopes.ts', false],
    ['src/sandbox/server.ts', 'src/client/client.ts', false],
    ['src/sandbox/world/world.ts', 'src/core/time.ts', true],
    ['src/sandbox/world/world.ts', 'src/catalog/records.ts', false],
    ['src/warehouse/load/load.ts', 'src/steps.ts', false],
    ['src/steps/export/fetch.ts', 'src/steps.ts', true],
    ['src/cli/main.ts', 'src/core/errors.ts', true],
    ['workflows/sync.ts', 'src/core/planning/planner.ts', true],
    ['workflows/sync.ts', 'src/catalog/records.ts', false],
    ['src/steps.ts', 'workflows/steps.ts', true],
    ['src/core/planning/planner.ts', 'workflows/steps.ts', false],
  ])('answer for %s importing %s: %s', (from, to, allowed) => expect(mayImport(from, to)).toBe(allowed))

  it('see a cycle', () => {
    const [a, b, c] = [
      of('src/a.ts', `import './b.ts'`),
      of('src/b.ts', `import './c.ts'`),
      of('src/c.ts', `import './b.ts'`),
    ]
    expect(findCycle([a, b, c])).toEqual(['src/b.ts', 'src/c.ts', 'src/b.ts'])
    expect(findCycle([a, b])).toBeUndefined()
  })

  it('see a computed import, and none in a comment', () => {
    expect(of('src/a.ts', 'await import(name)').packages).toEqual(['name'])
    expect(of('src/a.ts', `// await import('x')\n * from 'y'`).packages).toEqual([])
  })
})
