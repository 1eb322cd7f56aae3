// Finding and downloading the Temporal CLI, with a real HTTP server that serves releases. The CLI that the other tests use is built
// from Go (test/temporal-cli.ts).
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  archiveName,
  findTemporal,
  provideTemporal,
  TEMPORAL_RELEASE,
  type TemporalRelease,
} from '../../../src/run/temporal/server/temporal-cli.ts'
import { until } from '../../until.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'convohouse-temporal-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

async function executable(path: string): Promise<void> {
  await writeFile(path, '#!/bin/sh\necho the CLI\n')
  await chmod(path, 0o755)
}

const { version } = TEMPORAL_RELEASE
const PLACE = `temporal-cli-${version}`

/** A release at an address where no server listens. */
const NO_RELEASE: TemporalRelease = { version, releases: 'http://127.0.0.1:9', checksums: {} }

/** Waits until the cache has exactly this many entries. */
async function holds(cache: string, count: number): Promise<void> {
  await until(async () => (await readdir(cache)).length === count, { everyMs: 10 })
}

interface Served {
  /** The checksum in the release's `checksums.txt`; default: the right one; null: the release has no such file. */
  listed?: string | null
  /** The checksum that convohouse has pinned; default: none. */
  pinned?: 'right' | 'wrong'
  /** Sends half of the archive and then stalls. */
  stalls?: boolean
}

/** A server with the release's archive for this machine. */
async function served({ listed, pinned, stalls = false }: Served = {}): Promise<TemporalRelease> {
  const made = await folder()
  await executable(join(made, 'temporal'))
  const name = archiveName(version)
  await promisify(execFile)('tar', ['-czf', join(made, name), '-C', made, 'temporal'])
  const archive = await readFile(join(made, name))
  const right = createHash('sha256').update(archive).digest('hex')
  const server = createServer((request, response) => {
    const path = `/v${version}`
    if (request.url === `${path}/checksums.txt` && listed !== null)
      response.end(`${'0'.repeat(64)}  other.tar.gz\n${listed ?? right}  ${name}\n`)
    else if (request.url === `${path}/${name}`) {
      if (stalls) response.writeHead(200, { 'content-length': archive.length }).write(archive.subarray(0, 20))
      else response.end(archive)
    } else response.writeHead(404).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const releases = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return { version, releases, checksums: pinned ? { [name]: pinned === 'right' ? right : '1'.repeat(64) } : {} }
}

const refused = (why: RegExp) => ({ code: 'TEMPORAL_MISSING', message: expect.stringMatching(why) })

describe('the Temporal CLI', () => {
  it('is the first executable one on the PATH', async () => {
    const [first, second, cache] = [await folder(), await folder(), await folder()]
    await writeFile(join(first, 'temporal'), 'cannot be executed')
    await executable(join(second, 'temporal'))
    expect(await findTemporal({ searchPath: [first, second], cache })).toBe(join(second, 'temporal'))
  })

  it('is downloaded once and then found in the cache', async () => {
    const places = { searchPath: [], cache: await folder() }
    expect(await findTemporal(places)).toBeNull()
    const lines: string[] = []
    const path = await provideTemporal({ places, release: await served(), log: line => lines.push(line) })
    expect((await promisify(execFile)(path)).stdout).toBe('the CLI\n')
    expect(lines).toEqual([`Downloading the Temporal CLI ${version} …`])
    expect(await findTemporal(places)).toBe(path)
    expect(await readdir(places.cache)).toEqual([PLACE])
  })

  it('is checked against the pinned checksum instead of the list of the release', async () => {
    const places = { searchPath: [], cache: await folder() }
    const path = await provideTemporal({ places, release: await served({ pinned: 'right', listed: null }) })
    expect((await promisify(execFile)(path)).stdout).toBe('the CLI\n')
    const other = { searchPath: [], cache: await folder() }
    const wrong = provideTemporal({ places: other, release: await served({ pinned: 'wrong' }) })
    await expect(wrong).rejects.toMatchObject(refused(/the checksum of .+ differs/))
    expect(await readdir(other.cache)).toEqual([])
  })

  it('is not used if its checksum differs or is not listed', async () => {
    const places = { searchPath: [], cache: await folder() }
    const wrong = provideTemporal({ places, release: await served({ listed: '1'.repeat(64) }) })
    await expect(wrong).rejects.toMatchObject(refused(/the checksum of .+ differs/))
    const unlisted = provideTemporal({ places, release: await served({ listed: null }) })
    await expect(unlisted).rejects.toMatchObject(refused(/could not be downloaded \(127\.0\.0\.1:\d+ answers 404\)/))
    expect(await readdir(places.cache)).toEqual([])
  })

  it('is missing if its download fails or is aborted, and nothing is left behind', async () => {
    const places = { searchPath: [], cache: await folder() }
    await expect(provideTemporal({ places, release: NO_RELEASE })).rejects.toMatchObject(
      refused(/no Temporal CLI on the PATH or in .+, and it could not be downloaded \(.+\)/),
    )
    expect(await readdir(places.cache)).toEqual([])

    const ending = new AbortController()
    const given = provideTemporal({ places, release: await served({ stalls: true }), signal: ending.signal })
    given.catch(() => {})
    await holds(places.cache, 1)
    ending.abort()
    await expect(given).rejects.toMatchObject({ code: 'TEMPORAL_MISSING' })
    expect(await readdir(places.cache)).toEqual([])
  })

  it('leaves nothing behind if the process exits during the download', async () => {
    const cache = await folder()
    const script = `
      const { intoCache } = await import(process.argv[1])
      await intoCache({ place: process.argv[2] + '/tool', name: 'tool' }, async folder => {
        console.log(folder)
        process.exit(3)
      })`
    const exited = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, TOOLS, cache])
    await expect(exited).rejects.toMatchObject({ code: 3, stdout: expect.stringContaining(join(cache, 'tool.')) })
    expect(await readdir(cache)).toEqual([])
  })

  it('causes no stack trace if the cache folder cannot be created', async () => {
    const file = join(await folder(), 'file')
    await writeFile(file, '')
    const script = `
      const { intoCache } = await import(process.argv[1])
      process.on('newListener', name => name === 'exit' && process.nextTick(() => process.exit(3)))
      await intoCache({ place: process.argv[2] + '/tool', name: 'tool' }, async () => {})`
    const exited = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, TOOLS, file])
    await expect(exited).rejects.toMatchObject({ code: 3, stderr: '' })
  })

  it('is awaited while another process downloads it, unless that process has ended', async () => {
    const places = { searchPath: [], cache: await folder() }
    const other = spawn('sleep', ['60'])
    const ended = new Promise(resolve => other.once('close', resolve))
    onTestFinished(() => void other.kill())
    await mkdir(join(places.cache, `${PLACE}.${other.pid}-0000`))
    const left = join(places.cache, `${PLACE}.1-0000`)
    await mkdir(left)
    await utimes(left, 0, 0)
    let there = false
    const provided = provideTemporal({ places, release: await served() }).then(path => {
      there = true
      return path
    })
    // Files that an ended process left are removed at once; one entry remains, of the process that still downloads.
    await holds(places.cache, 1)
    await sleep(300)
    expect(there).toBe(false)
    other.kill()
    await ended
    const path = await provided
    expect(await findTemporal(places)).toBe(path)
  })

  it('has no release for an unsupported platform', () => {
    expect(() => archiveName('1.5.1', 'aix', 'ppc64')).toThrow(/no release for aix on ppc64/)
    expect(archiveName('1.5.1', 'linux', 'arm64')).toBe('temporal_cli_1.5.1_linux_arm64.tar.gz')
    expect(archiveName('1.5.1', 'win32', 'x64')).toBe('temporal_cli_1.5.1_windows_amd64.zip')
  })
})

const TOOLS = join(import.meta.dirname, '../../../dist/src/run/temporal/server/tools.js')
