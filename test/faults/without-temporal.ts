// Environment variables with which a command finds no Temporal CLI: `up` then syncs repeatedly in one process.
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../cli/cli-process.ts'

export async function withoutTemporal(): Promise<Record<string, string>> {
  const bin = await temporaryFolder()
  await symlink(process.execPath, join(bin, 'node'))
  return { PATH: bin }
}
