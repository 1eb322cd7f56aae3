// All checks: those of `sql/checks`, those derived from the catalog and the marts, and the user's own files.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { diskErrorText } from '../../core/disk.ts'
import { sqlFiles } from '../sql-files.ts'
import { type Check, declaredCheck } from './declaration.ts'
import { martChecks } from './mart-checks.ts'
import { recordChecks } from './record-checks.ts'

const byName = (a: Check, b: Check): number => (a.name < b.name ? -1 : 1)

/** The checks of convohouse itself, by name. */
export async function warehouseChecks(): Promise<Check[]> {
  const bundled = sqlFiles('checks').map(file => declaredCheck(file, false))
  return [...bundled, ...recordChecks(), ...martChecks()].sort(byName)
}

const invalid = (name: string, problem: string): Check => ({
  name,
  about: '',
  severity: 'error',
  blocks: false,
  table: '',
  key: [],
  sql: '',
  isOwn: true,
  problem,
})

/** The `.sql` files of a folder. A file or folder that cannot be read is a check that reports it. */
async function ownChecks(folder: string): Promise<Check[]> {
  let names: string[]
  try {
    names = (await readdir(folder)).filter(name => name.endsWith('.sql')).sort()
  } catch (error) {
    return [invalid('checks', `the folder ${folder} cannot be read: ${diskErrorText(error)}`)]
  }
  return Promise.all(
    names.map(async file => {
      const name = file.slice(0, -'.sql'.length)
      try {
        return declaredCheck({ name, sql: await readFile(join(folder, file), 'utf8') }, true)
      } catch (error) {
        return invalid(name, `${join(folder, file)} cannot be read: ${diskErrorText(error)}`)
      }
    }),
  )
}

/** All checks, by name; `folder` has the user's own, null if there is none. */
export async function allChecks(folder: string | null): Promise<Check[]> {
  const bundled = await warehouseChecks()
  if (folder === null) return bundled
  const taken = new Set(bundled.map(({ name }) => name))
  const own = (await ownChecks(folder)).map(check =>
    taken.has(check.name)
      ? invalid(`${check.name}.sql`, `convohouse has a check ${check.name} of its own: rename the file`)
      : check,
  )
  return [...bundled, ...own].sort(byName)
}
