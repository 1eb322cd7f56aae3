// The Temporal CLI, built from its Go module.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { environmentWith } from '../../../config.ts'
import { MINUTE } from '../../../core/time.ts'
import { firstIn } from './executables.ts'

/** A build takes three minutes on two cores, and downloads a few hundred MB before. */
export const BUILD_MS = 15 * MINUTE

/** What a debugger would want of the executable: a third of its size, and time of each package. */
const WITHOUT_DEBUGGING = ['-ldflags=-s -w', '-gcflags=all=-dwarf=false']

/** @throws where there is none */
export async function findGo(searchPath: readonly string[]): Promise<string> {
  const go = await firstIn(searchPath, 'go')
  if (go === null) throw new Error('there is no Go here')
  return go
}

/**
 * Puts the executable into `folder`. `background`: at a low priority, for whoever does something else meanwhile.
 * @throws where it fails, and where it is given up
 */
export async function buildTemporal(options: {
  go: string
  folder: string
  version: string
  background: boolean
  signal: AbortSignal | undefined
}): Promise<void> {
  const { go, folder, version, background, signal } = options
  const install = [go, 'install', ...WITHOUT_DEBUGGING, `github.com/temporalio/cli/cmd/temporal@v${version}`]
  const [command, ...args] = background && process.platform !== 'win32' ? ['nice', '-n', '10', ...install] : install
  await promisify(execFile)(command!, args, { env: environmentWith({ GOBIN: folder }), timeout: BUILD_MS, signal })
}
