import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const decisions = readdirSync(join(ROOT, 'docs/adr')).sort()
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'test/invariants.md',
  'test/faults.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
  ...['bi', 'targets'].flatMap(folder => readdirSync(join(ROOT, 'docs', folder)).map(name => `docs/${folder}/${name}`)),
  ...decisions.map(name => `docs/adr/${name}`),
]

/** Returns the anchor that GitHub derives from a heading. */
const anchorsOf = (page: string): string[] =>
  [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )

describe('the decisions in docs/adr', () => {
  const numbers = decisions.map(name => Number.parseInt(name, 10))

  it('have unique numbers, the same in file name and heading', () => {
    expect(new Set(numbers).size).toBe(numbers.length)
    for (const name of decisions)
      expect(read(`docs/adr/${name}`)).toMatch(new RegExp(`^# ${Number.parseInt(name, 10)}\\. `))
  })

  it('exist if code or pages name them by number', () => {
    const named = [...pages, ...sources('src'), ...sources('workflows'), ...sources('sql')].flatMap(path =>
      [...read(path).matchAll(/\bADR (\d+)/g)].map(([, number]) => Number(number)),
    )
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter(number => !numbers.includes(number))).toEqual([])
  })
})

const sources = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(ts|cts|sql)$/.test(name))
    .map(name => join(folder, name))

describe('a page', () => {
  it.each(pages)('%s links to files and headings that exist', path => {
    const links = [...read(path).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link]) => link!)
      .filter(link => !/^\w+:/.test(link))
    const broken = links.filter(link => {
      const [file, anchor] = link.split('#')
      const target = file === '' ? path : join(dirname(path), file!)
      if (!existsSync(join(ROOT, target))) return true
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(read(target)).includes(anchor)
    })
    expect(broken).toEqual([])
  })
})

describe('docs/architecture.md', () => {
  it('names files and folders that exist; a name without a folder is in one that its line names', () => {
    const lines = read('docs/architecture.md').split('\n')
    const missing = lines.flatMap(line => {
      const names = [...line.matchAll(/`([\w./-]+\.ts|(?:src|workflows)\/[\w/-]*)`/g)].map(([, name]) => name!)
      const paths = names.filter(name => /^(src|workflows|test)\//.test(name))
      const folders = paths.flatMap(path => [path, dirname(path)])
      const exists = (name: string) =>
        existsSync(join(ROOT, name)) || folders.some(folder => existsSync(join(ROOT, folder, name)))
      return names.filter(name => !exists(name))
    })
    expect(lines.filter(line => line.includes('.ts`')).length).toBeGreaterThan(25)
    expect(missing).toEqual([])
  })
})
