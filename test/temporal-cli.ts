// The Temporal CLI for tests and benches. The product finds or downloads it; if neither works, it is built here from its Go module.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { readToolPlaces, type ToolPlaces } from '../src/config.ts'
import { isCode } from '../src/core/errors.ts'
import { MINUTE } from '../src/core/time.ts'
import {
  provideTemporal,
  TEMPORAL_RELEASE,
  type TemporalRelease,
  temporalFolder,
} from '../src/run/temporal/server/temporal-cli.ts'
import { executableName, firstIn, intoCache } from '../src/run/temporal/server/tools.ts'

/** Go's own installer uses this folder, which is on the PATH only in login shells. */
const GO_HOME = '/usr/local/go/bin'

/** A build takes three minutes on two cores, after a download of a few hundred MB. */
const BUILD_MS = 15 * MINUTE

/** Debugging information is a third of the executable's size. */
const WITHOUT_DEBUGGING = ['-ldflags=-s -w', '-gcflags=all=-dwarf=false']

interface ObtainOptions {
  places?: ToolPlaces
  release?: TemporalRelease
  /** Receives a line before a download or a build. */
  log?: (line: string) => void
  signal?: AbortSignal
}

async function buildTemporal(folder: string, go: string, signal: AbortSignal | undefined): Promise<void> {
  const module = `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_RELEASE.version}`
  // The build runs at a low priority, because tests run at the same time.
  const low = process.platform === 'win32' ? [] : ['nice', '-n', '10']
  const [command, ...args] = [...low, go, 'install', ...WITHOUT_DEBUGGING, module]
  await promisify(execFile)(command!, args, { env: { ...process.env, GOBIN: folder }, timeout: BUILD_MS, signal })
}

/** Finds, downloads or builds the Temporal CLI. @throws TEMPORAL_MISSING, with Go's output if the build fails */
export async function obtainTemporal(options: ObtainOptions = {}): Promise<string> {
  const { places = readToolPlaces(), release, log = () => {}, signal } = options
  try {
    return await provideTemporal({ places, log, ...(release && { release }), ...(signal && { signal }) })
  } catch (error) {
    const go = await firstIn([...places.searchPath, GO_HOME], 'go')
    if (!isCode(error, 'TEMPORAL_MISSING') || go === null || signal?.aborted) throw error
    log(`Building the Temporal CLI ${TEMPORAL_RELEASE.version} (three minutes, once) …`)
    const target = { place: temporalFolder(places), name: executableName('temporal'), signal }
    return intoCache(target, folder => buildTemporal(folder, go, signal))
  }
}
