// Checks that the image's source files exist and suffice, and that none of them contains a secret.
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sourcesBelow } from '../import-graph.ts'
import { isDeep } from '../tier.ts'
import { copiesOf, ROOT, readStages, wordsOf } from './dockerfile.ts'
import { buildStage, IMAGE_ENV, lastStage } from './image.ts'

const stages = readStages()
const last = stages.at(-1)!
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

describe('the Dockerfile', () => {
  const sources = stages.flatMap(copiesOf).flatMap(({ from, sources }) => (from === null ? sources : []))

  it('copies files that exist and are not ignored', () => {
    expect(sources.length).toBeGreaterThan(5)
    expect(sources.filter(source => !existsSync(join(ROOT, source)))).toEqual([])
    const [all, ...kept] = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'))
    expect(all).toBe('*')
    expect(kept.map(line => line.slice(1)).sort()).toEqual([...new Set(sources)].sort())
  })

  it('copies from stages that exist', () => {
    const known = stages.map(({ name }) => name)
    const from = stages.flatMap(copiesOf).flatMap(copy => copy.from ?? [])
    expect(from.filter(name => !known.includes(name))).toEqual([])
    const pinned = /^(node:\d+\.\d+\.\d+-bookworm-slim|python:\d+\.\d+\.\d+-slim-bookworm)$/
    expect(stages.map(({ image }) => image).filter(image => !pinned.test(image))).toEqual(['node', 'node'])
  })

  it("has DuckDB's extensions of the version of DuckDB, where the command looks for them", () => {
    const { instructions } = stages.find(({ name }) => name === 'extensions')!
    const wheels = instructions.flatMap(({ text }) => [...text.matchAll(/duckdb-extension-[a-z-]+==(\S+)/g)])
    expect(wheels.length).toBeGreaterThan(0)
    const [version] = manifest.dependencies['@duckdb/node-api']!.split('-')
    expect(wheels.map(([, of]) => of)).toEqual(wheels.map(() => version))
    expect(copiesOf(last).find(({ from }) => from === 'extensions')?.target).toBe('extensions')
    const env = last.instructions.find(({ text }) => text.includes('CONVOHOUSE_EXTENSIONS'))
    expect(env?.text).toContain('CONVOHOUSE_EXTENSIONS=/app/extensions')
  })

  it('runs as an unprivileged user, and passes signals to the process itself', () => {
    const settings = new Map(last.instructions.map(({ name, text }) => [name, text]))
    expect(settings.get('USER')).toBe('node')
    expect(settings.get('VOLUME')).toBe('/data')
    expect(wordsOf(last, 'ENTRYPOINT')).toEqual(['node', '/app/dist/src/cli/convohouse.cjs'])
    expect(wordsOf(last, 'CMD')[0]).toBe('worker')
  })

  it('has no secret in its environment', () => {
    const set = stages.flatMap(({ instructions }) => instructions.filter(({ name }) => /^(ENV|ARG)$/.test(name)))
    expect(set.filter(({ text }) => /token|secret|password|api_?key/i.test(text))).toEqual([])
  })
})

describe('the package', () => {
  it('depends on exactly the packages that it imports; those of the dashboard are in its bundle', () => {
    const sources = [...sourcesBelow('src'), ...sourcesBelow('workflows')]
    const isWeb = ({ path }: { path: string }) => path.startsWith('src/serve/web/')
    const packagesOf = (some: typeof sources) =>
      some
        .flatMap(({ packages }) => packages.filter(name => !name.startsWith('node:')))
        .map(name =>
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        )
    const names = new Set(packagesOf(sources.filter(source => !isWeb(source))))
    expect(Object.keys(manifest.devDependencies)).toEqual(expect.arrayContaining(packagesOf(sources.filter(isWeb))))
    // To replay JSON histories, Temporal needs this package at the root of `node_modules`.
    names.add('protobufjs')
    // The bundled DuckDB client loads this package.
    names.add('@duckdb/node-bindings')
    expect([...names].sort()).toEqual(Object.keys(manifest.dependencies).sort())
  })
})

describe('the image', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'convohouse-image-'))
    // A build takes six seconds, so `npm test` uses the existing build.
    if (isDeep) await buildStage(join(folder, 'build'))
    await lastStage(isDeep ? join(folder, 'build') : ROOT, join(folder, 'app'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it.runIf(isDeep)('contains the same files as a build in the repository', () => {
    const made = (root: string) =>
      readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' })
        .filter(path => !path.startsWith('test'))
        .sort()
    expect(made(join(folder, 'app'))).toEqual(made(ROOT))
  })

  it('runs with the production packages', async () => {
    const main = join(folder, 'app/dist/src/cli/convohouse.cjs')
    const options = { env: { PATH: process.env.PATH, ...IMAGE_ENV } }
    const { stdout } = await promisify(execFile)(process.execPath, [main, '--version'], options)
    expect(stdout.trim()).toContain(manifest.version)
    expect(existsSync(join(folder, 'app/node_modules/vitest'))).toBe(false)
    const imports = `await import(${JSON.stringify(join(folder, 'app/dist/src/run/temporal/worker/worker.js'))})`
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', imports], options)
  })
})
