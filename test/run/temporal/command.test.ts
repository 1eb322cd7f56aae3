// What provides the Temporal CLI. A real build, which takes minutes, is left to the tests' global set-up; here a script is Go.
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findTemporal, provideTemporal, TEMPORAL_VERSION } from '../../../src/run/temporal/server/command.ts'
import { archiveName, downloadTemporal } from '../../../src/run/temporal/server/download.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'convohouse-temporal-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

const SCRIPT = '#!/bin/sh\necho the CLI\n'

async function executable(path: string, text = SCRIPT): Promise<void> {
  await writeFile(path, text)
  await chmod(path, 0o755)
}

/** Nobody serves releases there. */
const NO_RELEASES = 'http://127.0.0.1:9'

const PLACE = `temporal-cli-${TEMPORAL_VERSION}`

/** Places where Go is what the script says, with the folder of the executable as `$GOBIN`. */
async function withGo(script: string): Promise<{ searchPath: string[]; cache: string }> {
  const searchPath = [await folder()]
  await executable(join(searchPath[0]!, 'go'), `#!/bin/sh\n${script}\n`)
  return { searchPath, cache: await folder() }
}

const BUILDS = `printf '%s' '${SCRIPT}' > "$GOBIN/temporal" && chmod +x "$GOBIN/temporal"`

/** Waits until the cache holds just so many entries. */
async function holds(cache: string, count: number): Promise<void> {
  while ((await readdir(cache)).length !== count) await sleep(10)
}

/** A house of releases that serves one archive, with a checksum. */
async function releases(options: { checksum?: string } = {}): Promise<string> {
  const made = await folder()
  await executable(join(made, 'temporal'))
  const name = archiveName(TEMPORAL_VERSION)
  await promisify(execFile)('tar', ['-czf', join(made, name), '-C', made, 'temporal'])
  const archive = await readFile(join(made, name))
  const checksum = options.checksum ?? createHash('sha256').update(archive).digest('hex')
  const server = createServer((request, response) => {
    const path = `/v${TEMPORAL_VERSION}`
    if (request.url === `${path}/checksums.txt`) response.end(`${'0'.repeat(64)}  other.tar.gz\n${checksum}  ${name}\n`)
    else if (request.url === `${path}/${name}`) response.end(archive)
    else response.writeHead(404).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

describe('the Temporal CLI', () => {
  it('is the first on the PATH that can be executed', async () => {
    const [first, second, cache] = [await folder(), await folder(), await folder()]
    await writeFile(join(first, 'temporal'), 'cannot be executed')
    await executable(join(second, 'temporal'))
    expect(await findTemporal({ searchPath: [first, second], cache })).toBe(join(second, 'temporal'))
  })

  it('is downloaded once, and found in the cache from then on', async () => {
    const places = { searchPath: [], cache: await folder() }
    expect(await findTemporal(places)).toBeNull()
    const told: string[] = []
    const path = await provideTemporal({ places, releases: await releases(), tell: line => told.push(line) })
    expect((await promisify(execFile)(path)).stdout).toBe('the CLI\n')
    expect(told).toHaveLength(1)
    expect(await findTemporal(places)).toBe(path)
    expect(await readdir(places.cache)).toEqual([`temporal-cli-${TEMPORAL_VERSION}`])
  })

  it('is not taken where its checksum differs', async () => {
    const into = await folder()
    const from = await releases({ checksum: '1'.repeat(64) })
    const refused = downloadTemporal({ folder: into, releases: from, version: TEMPORAL_VERSION })
    await expect(refused).rejects.toThrow(/its checksum differs/)
    expect(await readdir(into)).toEqual([])
  })

  it('is built where it cannot be downloaded and Go is there', async () => {
    const places = await withGo(BUILDS)
    for (const background of [true, false]) {
      const path = await provideTemporal({ places, releases: NO_RELEASES, background })
      expect((await promisify(execFile)(path)).stdout).toBe('the CLI\n')
      expect(await readdir(places.cache)).toEqual([PLACE])
      await rm(path)
    }
  })

  it('leaves nothing where its build fails or is given up, and tells why it is missing', async () => {
    const failing = await withGo('echo half > "$GOBIN/temporal"; echo no room >&2; exit 1')
    await expect(provideTemporal({ places: failing, releases: NO_RELEASES })).rejects.toMatchObject({
      code: 'TEMPORAL_MISSING',
      message: expect.stringMatching(/could not be downloaded \(.+\), nor built \(Command failed: .+\)/),
    })
    expect(await readdir(failing.cache)).toEqual([])

    const endless = await withGo('echo half > "$GOBIN/temporal"; exec sleep 60')
    const ending = new AbortController()
    const given = provideTemporal({ places: endless, releases: NO_RELEASES, signal: ending.signal })
    given.catch(() => {})
    await holds(endless.cache, 1)
    ending.abort()
    await expect(given).rejects.toMatchObject({ code: 'TEMPORAL_MISSING' })
    expect(await readdir(endless.cache)).toEqual([])
  })

  it('leaves nothing where the process exits in the midst of it', async () => {
    const cache = await folder()
    const module = join(import.meta.dirname, '../../../dist/src/run/temporal/server/tool-cache.js')
    const script = `
      const { intoCache } = await import(process.argv[1])
      await intoCache({ place: process.argv[2] + '/tool', name: 'tool' }, async folder => {
        console.log(folder)
        process.exit(3)
      })`
    const exited = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, module, cache])
    await expect(exited).rejects.toMatchObject({ code: 3, stdout: expect.stringContaining(join(cache, 'tool.')) })
    expect(await readdir(cache)).toEqual([])
  })

  it('ends no process with a stack where the cache cannot be made', async () => {
    const file = join(await folder(), 'file')
    await writeFile(file, '')
    const module = join(import.meta.dirname, '../../../dist/src/run/temporal/server/tool-cache.js')
    const script = `
      const { intoCache } = await import(process.argv[1])
      process.on('newListener', name => name === 'exit' && process.nextTick(() => process.exit(3)))
      await intoCache({ place: process.argv[2] + '/tool', name: 'tool' }, async () => {})`
    const exited = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, module, file])
    await expect(exited).rejects.toMatchObject({ code: 3, stderr: '' })
  })

  it('is waited for where another process makes it, unless that is gone', async () => {
    const places = await withGo(BUILDS)
    const other = spawn('sleep', ['60'])
    const ended = new Promise(resolve => other.once('close', resolve))
    onTestFinished(() => void other.kill())
    await mkdir(join(places.cache, `${PLACE}.${other.pid}-0000`))
    const left = join(places.cache, `${PLACE}.1-0000`)
    await mkdir(left)
    await utimes(left, 0, 0)
    let there = false
    const provided = provideTemporal({ places, releases: NO_RELEASES }).then(path => {
      there = true
      return path
    })
    // What was left behind is removed at once.
    await holds(places.cache, 1)
    await sleep(300)
    expect(there).toBe(false)
    other.kill()
    await ended
    const path = await provided
    expect(await findTemporal(places)).toBe(path)
  })

  it('has no release for a machine that Temporal does not build for', () => {
    expect(() => archiveName('1.5.1', 'aix', 'ppc64')).toThrow(/no release for aix on ppc64/)
    expect(archiveName('1.5.1', 'linux', 'arm64')).toBe('temporal_cli_1.5.1_linux_arm64.tar.gz')
    expect(archiveName('1.5.1', 'win32', 'x64')).toBe('temporal_cli_1.5.1_windows_amd64.zip')
  })
})
