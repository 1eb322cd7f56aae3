// Evidence's connector for DuckDB, from npm.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Tool } from './installed.ts'

const PACKAGE = '@evidence-dev/duckdb@2.0.1'

export const EVIDENCE: Tool = {
  folder: 'bi-evidence-duckdb-2.0.1',
  about: `Evidence's connector for DuckDB (npm's ${PACKAGE})`,
  async install(folder) {
    await writeFile(join(folder, 'package.json'), '{"private": true}')
    await promisify(execFile)('npm', ['install', '--silent', '--no-audit', '--no-fund', PACKAGE], { cwd: folder })
  },
}
