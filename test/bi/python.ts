// Python environments with the packages of a test, each installed once and cached.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Libraries that read files. */
export const READERS = ['pyarrow==26.0.1', 'pandas==3.1.1', 'polars==2.1.0']

const CACHE = join(import.meta.dirname, '..', '..', 'node_modules', '.cache')

const run = promisify(execFile)

/** The path of an interpreter that has the packages; the first call for them needs `python3` with `venv`, and PyPI. */
export async function python(packages: readonly string[]): Promise<string> {
  const name = packages.join('-')
  const short = name.length <= 80 ? name : createHash('sha256').update(name).digest('hex').slice(0, 16)
  const folder = join(CACHE, `bi-${short}`)
  const interpreter = join(folder, 'bin', 'python')
  /** Exists once the installation is complete. */
  const marker = join(folder, 'whole')
  if (
    await access(marker).then(
      () => true,
      () => false,
    )
  )
    return interpreter
  await run('python3', ['-m', 'venv', '--clear', folder])
  await run(interpreter, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages])
  await run('touch', [marker])
  return interpreter
}
