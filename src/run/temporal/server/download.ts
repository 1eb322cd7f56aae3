// The Temporal CLI from its releases, checked against the checksums that are released with it.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MINUTE, SECOND } from '../../../core/time.ts'

export const RELEASES = 'https://github.com/temporalio/cli/releases/download'

/** Within so long the first bytes must come: a machine without a way out would wait for minutes. */
const ANSWER_MS = 10 * SECOND
/** An archive has 60 MB. */
const WHOLE_MS = 5 * MINUTE

const PLATFORMS: Partial<Record<NodeJS.Platform, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' }
const MACHINES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }

/** The release's archive for this machine. */
export function archiveName(version: string, platform = process.platform, arch: string = process.arch): string {
  const [system, machine] = [PLATFORMS[platform], MACHINES[arch]]
  if (!system || !machine) throw new Error(`there is no release for ${platform} on ${arch}`)
  return `temporal_cli_${version}_${system}_${machine}.${platform === 'win32' ? 'zip' : 'tar.gz'}`
}

async function get(url: string, signal: AbortSignal | undefined): Promise<Buffer> {
  const controller = new AbortController()
  const answers = setTimeout(() => controller.abort(new Error(`${new URL(url).host} does not answer`)), ANSWER_MS)
  const whole = setTimeout(() => controller.abort(new Error('the download takes too long')), WHOLE_MS)
  try {
    const answer = await fetch(url, {
      signal: signal ? AbortSignal.any([signal, controller.signal]) : controller.signal,
    })
    clearTimeout(answers)
    if (!answer.ok) throw new Error(`${new URL(url).host} answers ${answer.status}`)
    return Buffer.from(await answer.arrayBuffer())
  } finally {
    clearTimeout(answers)
    clearTimeout(whole)
  }
}

/** The digest that a list of checksums (`<sha256>  <file>`) has for a file. */
function digestIn(checksums: string, name: string): string {
  const line = checksums.split('\n').find(entry => entry.trim().split(/\s+/)[1] === name)
  if (!line) throw new Error(`no checksum of ${name} is released`)
  return line.trim().split(/\s+/)[0]!.toLowerCase()
}

/** Puts the executable into `folder`. @throws where it cannot be had, or is not what was released */
export async function downloadTemporal(options: {
  folder: string
  releases: string
  version: string
  signal?: AbortSignal | undefined
}): Promise<void> {
  const { folder, releases, version, signal } = options
  const name = archiveName(version)
  const base = `${releases}/v${version}`
  const expected = digestIn((await get(`${base}/checksums.txt`, signal)).toString('utf8'), name)
  const archive = await get(`${base}/${name}`, signal)
  if (createHash('sha256').update(archive).digest('hex') !== expected)
    throw new Error(`${name} is not what was released: its checksum differs`)
  const path = join(folder, name)
  await writeFile(path, archive)
  // The tar of every system reads both kinds of archive.
  await promisify(execFile)('tar', ['-xf', path, '-C', folder])
  await rm(path)
}
