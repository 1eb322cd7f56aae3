// What Superset needs beside its package: settings, its own tables, and an administrator.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Superset's settings: its own tables are in a file of the folder. */
export const supersetSettings = (folder: string): string => `SECRET_KEY = "of tests"
SQLALCHEMY_DATABASE_URI = "sqlite:///${folder}/superset.db?check_same_thread=false"
TALISMAN_ENABLED = False
WTF_CSRF_ENABLED = False
`

export const SUPERSET_ADMIN = { username: 'admin', password: 'of-tests' }

/** Superset's own tables and its administrator, as its documentation has them made. It takes a minute, and tests copy the file. */
export async function createSupersetTables(folder: string): Promise<void> {
  const settings = join(folder, 'superset_config.py')
  await writeFile(settings, supersetSettings(folder))
  const superset = (...words: string[]) =>
    run(join(folder, 'bin', 'superset'), words, { env: { ...process.env, SUPERSET_CONFIG_PATH: settings } })
  await superset('db', 'upgrade')
  const { username, password } = SUPERSET_ADMIN
  const names = ['--firstname', 'Ad', '--lastname', 'Min', '--email', 'admin@example.com']
  await superset('fab', 'create-admin', '--username', username, '--password', password, ...names)
  await superset('init')
}
