// The Temporal CLI, which contains the dev server: on the PATH, else in the user's cache, else downloaded from its official release.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readToolPlaces, type ToolPlaces } from '../../../config.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { MINUTE, SECOND } from '../../../core/time.ts'
import { executableName, firstIn, intoCache } from './tools.ts'

export interface TemporalRelease {
  version: string
  /** Address of the folder that holds the releases. */
  releases: string
  /** SHA-256 by archive. Archives that are not listed are checked against the release's own `checksums.txt`. */
  checksums: Readonly<Record<string, string>>
}

/** The newest release that convohouse was tested with; its server is 1.29. */
export const TEMPORAL_RELEASE: TemporalRelease = {
  version: '1.5.1',
  releases: 'https://github.com/temporalio/cli/releases/download',
  checksums: {
    'temporal_cli_1.5.1_linux_amd64.tar.gz': 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
    'temporal_cli_1.5.1_linux_arm64.tar.gz': 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
    'temporal_cli_1.5.1_darwin_amd64.tar.gz': 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
    'temporal_cli_1.5.1_darwin_arm64.tar.gz': 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
  },
}

/** The cache's folder for this version of the CLI. */
export const temporalFolder = ({ cache }: ToolPlaces): string => join(cache, `temporal-cli-${TEMPORAL_RELEASE.version}`)

/** Path of the Temporal CLI on the PATH or in the cache; null if it is in neither. */
export const findTemporal = (places: ToolPlaces = readToolPlaces()): Promise<string | null> =>
  firstIn([...places.searchPath, temporalFolder(places)], 'temporal')

/**
 * Finds the Temporal CLI, or downloads it into the cache. `log` receives a line before a download. If `signal` aborts, the download stops
 * and leaves nothing behind.
 * @throws TEMPORAL_MISSING
 */
export async function provideTemporal(
  options: { places?: ToolPlaces; release?: TemporalRelease; log?: (line: string) => void; signal?: AbortSignal } = {},
): Promise<string> {
  const { places = readToolPlaces(), release = TEMPORAL_RELEASE, log = () => {}, signal } = options
  const found = await findTemporal(places)
  if (found) return found
  const target = { place: temporalFolder(places), name: executableName('temporal'), signal }
  try {
    return await intoCache(target, folder => {
      log(`Downloading the Temporal CLI ${release.version} …`)
      return download(release, folder, signal)
    })
  } catch (cause) {
    const [reason] = String((cause as Error).message).split('\n')
    throw new ConvohouseError('TEMPORAL_MISSING', {
      what: `There is no Temporal CLI on the PATH or in ${places.cache}, and it could not be downloaded (${reason}).`,
      hint: 'Install it (https://docs.temporal.io/cli), or configure the address of a Temporal server (TEMPORAL_ADDRESS).',
      cause,
    })
  }
}

const PLATFORMS: Partial<Record<NodeJS.Platform, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' }
const MACHINES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }

/** Name of the release's archive for this machine. @throws if Temporal publishes none for it */
export function archiveName(version: string, platform = process.platform, arch: string = process.arch): string {
  const [system, machine] = [PLATFORMS[platform], MACHINES[arch]]
  if (!system || !machine) throw new Error(`there is no release for ${platform} on ${arch}`)
  return `temporal_cli_${version}_${system}_${machine}.${platform === 'win32' ? 'zip' : 'tar.gz'}`
}

/** Downloads the executable into `folder`. @throws if the archive cannot be fetched, or its checksum differs */
async function download(
  { version, releases, checksums }: TemporalRelease,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const name = archiveName(version)
  const base = `${releases}/v${version}`
  const expected = checksums[name] ?? checksumIn((await fetchBytes(`${base}/checksums.txt`, signal)).toString(), name)
  const archive = await fetchBytes(`${base}/${name}`, signal)
  if (createHash('sha256').update(archive).digest('hex') !== expected)
    throw new Error(`the checksum of ${name} differs from that of the release`)
  const path = join(folder, name)
  await writeFile(path, archive)
  // The tar of every system reads both kinds of archive.
  await promisify(execFile)('tar', ['-xf', path, '-C', folder])
  await rm(path)
}

/** The checksum of the file `name` in a list of lines `<sha256>  <file>`. */
function checksumIn(list: string, name: string): string {
  const line = list.split('\n').find(entry => entry.trim().split(/\s+/)[1] === name)
  if (!line) throw new Error(`the release has no checksum of ${name}`)
  return line.trim().split(/\s+/)[0]!.toLowerCase()
}

/** Timeout until the response begins: without Internet access the request would otherwise take minutes to fail. */
const RESPONSE_MS = 10 * SECOND
/** Timeout of the download; an archive has 60 MB. */
const DOWNLOAD_MS = 5 * MINUTE

async function fetchBytes(url: string, signal: AbortSignal | undefined): Promise<Buffer> {
  const controller = new AbortController()
  const { host } = new URL(url)
  const responding = setTimeout(() => controller.abort(new Error(`${host} does not answer`)), RESPONSE_MS)
  const downloading = setTimeout(() => controller.abort(new Error('the download takes too long')), DOWNLOAD_MS)
  try {
    const answer = await fetch(url, {
      signal: signal ? AbortSignal.any([signal, controller.signal]) : controller.signal,
    })
    clearTimeout(responding)
    if (!answer.ok) throw new Error(`${host} answers ${answer.status}`)
    return Buffer.from(await answer.arrayBuffer())
  } finally {
    clearTimeout(responding)
    clearTimeout(downloading)
  }
}
