// Environment variables with which a command neither finds nor downloads a Temporal CLI: `up` then syncs repeatedly in one process.
import { chmod, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../cli/cli-process.ts'

export async function withoutTemporal(): Promise<Record<string, string>> {
  const bin = await temporaryFolder()
  await symlink(process.execPath, join(bin, 'node'))
  // Nothing can be downloaded into this cache, because its path is a file.
  const cache = join(bin, 'cache')
  await writeFile(cache, '')
  await chmod(cache, 0o400)
  return { PATH: bin, XDG_CACHE_HOME: cache }
}
