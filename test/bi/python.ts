// A Python environment with pandas, Polars and pyarrow, installed once and cached.
import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const PACKAGES = ['pyarrow==26.0.1', 'pandas==3.1.1', 'polars==2.1.0']

const run = promisify(execFile)

/** The path of the interpreter; the first call needs `python3` with `venv`, and PyPI. */
export async function python(): Promise<string> {
  const folder = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', `bi-${PACKAGES.join('-')}`)
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
  await run(interpreter, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PACKAGES])
  await run('touch', [marker])
  return interpreter
}
