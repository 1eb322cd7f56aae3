// The pages of the dashboard: the built-in ones and those of the user's folder, read again when a file changes.
import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SECOND } from '../core/time.ts'
import type { Metric } from '../metrics/declaration.ts'
import { declaredIn, yamlFiles } from '../metrics/yaml-files.ts'
import { type Page, pageFormat } from './pages/page-format.ts'
import { pageProblem } from './pages/page-problem.ts'

/** This module and its bundled copy (dist/src/bundle) both lie one folder below `src`. */
const BUILT_IN = fileURLToPath(new URL('../serve/pages/built-in', import.meta.url))

/** A page of a folder. `problem`: why it cannot be used. */
export interface ReadPage {
  name: string
  page: Page | null
  problem?: string
}

async function pagesIn(folder: string, metrics: readonly Metric[], isOwn: boolean): Promise<ReadPage[]> {
  const files = await yamlFiles(folder)
  if (typeof files === 'string') return [{ name: 'pages', page: null, problem: files }]
  return files.map(file => {
    const { name } = file
    const result = declaredIn(pageFormat, file)
    if ('problem' in result) return { name, page: null, problem: result.problem }
    const problem = pageProblem(name, result.declared, metrics)
    return problem === null ? { name, page: { name, isOwn, ...result.declared } } : { name, page: null, problem }
  })
}

/** Returns the pages of the user's folder. A file or folder that cannot be read becomes one that says so. */
export const ownPages = (folder: string, metrics: readonly Metric[]): Promise<ReadPage[]> =>
  pagesIn(folder, metrics, true)

export interface AllPages {
  /** In the order in which they are shown. */
  pages: Page[]
  problems: string[]
}

/** Returns a text that changes when a file of the folder does. */
async function stampOf(folder: string): Promise<string> {
  const files = await readdir(folder).catch(() => [])
  const stamps = files.sort().map(async file => {
    const found = await stat(join(folder, file)).catch(() => null)
    return [file, found?.mtimeMs, found?.size]
  })
  return JSON.stringify(await Promise.all(stamps))
}

interface PagesOptions {
  /** The user's folder; null for none. */
  folder: string | null
  metrics: readonly Metric[]
  /** Called once for each problem. */
  onProblem: (problem: string) => void
  /** Interval of the looks whether a file changed. */
  lookEveryMs?: number
}

export class Pages {
  private readonly options: PagesOptions
  private readonly reported = new Set<string>()
  private stamp: string | null = null
  private lookedMs = Number.NEGATIVE_INFINITY
  private current: Promise<AllPages & { tag: string }> | null = null

  constructor(options: PagesOptions) {
    this.options = options
  }

  /** Returns the pages as the files declare them now. `tag` changes with them. */
  async all(): Promise<AllPages & { tag: string }> {
    const { folder, lookEveryMs = SECOND } = this.options
    if (this.current && (folder === null || performance.now() - this.lookedMs < lookEveryMs)) return this.current
    this.lookedMs = performance.now()
    const stamp = folder === null ? '' : await stampOf(folder)
    if (this.current === null || stamp !== this.stamp) this.current = this.read()
    this.stamp = stamp
    return this.current
  }

  private async read(): Promise<AllPages & { tag: string }> {
    const { folder, metrics, onProblem } = this.options
    const own = folder === null ? [] : await ownPages(folder, metrics)
    const read = [...(await pagesIn(BUILT_IN, metrics, false)), ...own]
    // A usable page of the user replaces the built-in one of its name.
    const byName = new Map(read.flatMap(({ name, page }) => (page ? [[name, page] as const] : [])))
    const pages = [...byName.values()].sort((a, b) => a.order - b.order || (a.name < b.name ? -1 : 1))
    const problems = read.flatMap(({ name, problem }) =>
      problem === undefined ? [] : [`The page ${name} cannot be used: ${problem}`],
    )
    for (const problem of problems) if (!this.reported.has(problem)) onProblem(problem)
    for (const problem of problems) this.reported.add(problem)
    const tag = createHash('sha256')
      .update(JSON.stringify([pages, problems]))
      .digest('base64url')
      .slice(0, 22)
    return { pages, problems, tag }
  }
}
