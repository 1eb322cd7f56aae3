// The example of a dbt project.
import { execFile } from 'node:child_process'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { needed } from './lacking.ts'
import { PYTHON } from './python.ts'

const EXAMPLE = join(import.meta.dirname, '..', '..', 'examples', 'dbt')

export interface DbtProject {
  folder: string
  /** Runs dbt in the project. @returns its output */
  dbt(...words: string[]): Promise<string>
  /** Builds the models and expects that all tests of the sources pass. */
  build(...words: string[]): Promise<void>
}

interface Result {
  status: string
  unique_id: string
}

/** Copies the example into the data folder. Skips the test if dbt is missing. */
export async function dbtProject(home: string, variables: Record<string, string>): Promise<DbtProject> {
  const program = join(needed(PYTHON.dbt), 'bin', 'dbt')
  const folder = join(home, 'dbt')
  await cp(EXAMPLE, folder, { recursive: true })
  const env = { ...process.env, ...variables, DBT_SEND_ANONYMOUS_USAGE_STATS: 'false' }
  const dbt = async (...words: string[]) => {
    const all = [...words, '--profiles-dir', '.', '--no-use-colors']
    return (await promisify(execFile)(program, all, { cwd: folder, env, maxBuffer: 100_000_000 })).stdout
  }
  return {
    folder,
    dbt,
    async build(...words) {
      const printed = await dbt('build', ...words)
      expect(printed).toMatch(/ERROR=0 /)
      expect(printed).not.toMatch(/deprecat/i)
      const text = await readFile(join(folder, 'target', 'run_results.json'), 'utf8')
      const { results } = JSON.parse(text) as { results: Result[] }
      const tests = results.filter(({ unique_id }) => unique_id.startsWith('test.'))
      expect(tests.length).toBeGreaterThan(200)
      expect(new Set(tests.map(({ status }) => status))).toEqual(new Set(['pass']))
    },
  }
}
