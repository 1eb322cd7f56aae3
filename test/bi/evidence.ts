// Evidence's connector, from npm.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Tool } from './installed.ts'

const PACKAGES = ['@evidence-dev/duckdb@2.0.1']

export const EVIDENCE: Tool = {
  folder: `bi-evidence-${createHash('sha256').update(PACKAGES.join()).digest('hex').slice(0, 8)}`,
  about: `Evidence's connector for DuckDB (npm's ${PACKAGES.join(', ')})`,
  async install(folder) {
    await writeFile(join(folder, 'package.json'), '{"private": true}')
    await promisify(execFile)('npm', ['install', '--silent', '--no-audit', '--no-fund', ...PACKAGES], { cwd: folder })
  },
}
