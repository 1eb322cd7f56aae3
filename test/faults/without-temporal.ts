// An environment in which no Temporal can be had: `up` then syncs again and again without it, in one process.
import { chmod, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../cli/cli-process.ts'

export async function withoutTemporal(): Promise<Record<string, string>> {
  const bin = await temporaryFolder()
  await symlink(process.execPath, join(bin, 'node'))
  // Nothing can be put into a cache that is a file.
  const cache = join(bin, 'cache')
  await writeFile(cache, '')
  await chmod(cache, 0o400)
  return { PATH: bin, XDG_CACHE_HOME: cache }
}
