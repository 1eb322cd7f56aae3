// Provides DuckDB's extensions for tests, from PyPI: the files that DuckDB has signed.
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

const NAMES = ['postgres_scanner', 'ducklake', 'httpfs', 'fts']

const wheelsOf = (names: readonly string[]): string[] =>
  names.map(name => `duckdb-extension-${name.replaceAll('_', '-')}==${version().replace(/^v/, '')}`)

/** Downloads the named extensions of this DuckDB version into the folder. */
export async function downloadExtensions(folder: string, names: readonly string[]): Promise<void> {
  await run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder, ...wheelsOf(names)])
  await run('python3', ['-c', UNPACK, folder])
}

/** All extensions are in one folder, because a target may need several. */
export const EXTENSIONS: Tool = {
  folder: `bi-extensions-${createHash('sha256').update(wheelsOf(NAMES).join()).digest('hex').slice(0, 8)}`,
  about: `DuckDB's extensions (PyPI's ${wheelsOf(NAMES).join(', ')})`,
  install: folder => downloadExtensions(folder, NAMES),
}

/** Returns the folder with DuckDB's extensions, for the setting `extensions` of the configuration. */
export const extensionFolder = (): string => folderOf(EXTENSIONS)
