// An environment in which Temporal is not available: `up` then syncs repeatedly without it, in one process.
import { chmod, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../cli/cli-process.ts'

export async function withoutTemporal(): Promise<Record<string, string>> {
  const bin = await temporaryFolder()
  await symlink(process.execPath, join(bin, 'node'))
  // A cache path that is a file cannot store anything.
  const cache = join(bin, 'cache')
  await writeFile(cache, '')
  await chmod(cache, 0o400)
  return { PATH: bin, XDG_CACHE_HOME: cache }
}
