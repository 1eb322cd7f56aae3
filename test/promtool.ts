// Provides Prometheus's own checker: from the PATH, or from Debian's package `prometheus`, which is downloaded once and cached.
import { execFile } from 'node:child_process'
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, type SuiteFactory } from 'vitest'
import { MINUTE } from '../src/core/time.ts'
import { findTool, intoCache } from './tools.ts'

const run = promisify(execFile)

/** Returns a separate package list and cache for apt: apt then works without root, and in an image whose lists were removed. */
const ownApt = (folder: string): string[] =>
  [`Dir::State=${join(folder, 'state')}`, `Dir::Cache=${join(folder, 'cache')}`, 'Debug::NoLocking=1'].flatMap(
    option => ['-o', option],
  )

/** If root runs apt, it downloads as another user, who may not write to this folder. */
const WITHOUT_SANDBOX = ['-o', 'APT::Sandbox::User=root']

/** Moves the program of Debian's package into `folder`. @throws if apt is missing or the package cannot be downloaded */
async function downloadPromtool(folder: string): Promise<void> {
  const apt = (...words: string[]) =>
    run('apt-get', [...WITHOUT_SANDBOX, '-o', 'Acquire::http::Timeout=10', ...words], {
      cwd: folder,
      timeout: 3 * MINUTE,
    })
  await apt('download', 'prometheus').catch(async () => {
    await mkdir(join(folder, 'state', 'lists', 'partial'), { recursive: true })
    await mkdir(join(folder, 'cache', 'archives', 'partial'), { recursive: true })
    await apt(...ownApt(folder), 'update')
    await apt(...ownApt(folder), 'download', 'prometheus')
  })
  const file = (await readdir(folder)).find(name => name.endsWith('.deb'))
  if (file === undefined) throw new Error('apt-get downloaded nothing')
  await run('dpkg', ['-x', file, 'package'], { cwd: folder })
  await rename(join(folder, 'package', 'usr', 'bin', 'promtool'), join(folder, 'promtool'))
}

const provide = async (): Promise<string> =>
  (await findTool('promtool', 'promtool')) ?? intoCache('promtool', 'promtool', downloadPromtool)

/** Promtool's output and exit code; the code is 3 if a rule only violates a recommendation. */
export interface Checked {
  code: number
  output: string
}

export class Promtool {
  readonly command: string

  constructor(command: string) {
    this.command = command
  }

  check(words: readonly string[], input = ''): Promise<Checked> {
    return new Promise((resolve, reject) => {
      const child = execFile(this.command, words, (error, stdout, stderr) => {
        const code = error ? error.code : 0
        if (typeof code !== 'number') return reject(error)
        resolve({ code, output: stdout + stderr })
      })
      child.stdin!.end(input)
    })
  }
}

/** Describes tests that need promtool. Without promtool they are skipped, and the reason is printed; in CI they fail. */
export async function describeWithPromtool(name: string, tests: (promtool: Promtool) => void): Promise<void> {
  const found = await provide().catch((error: Error) => error)
  if (typeof found === 'string') return void describe(name, (() => tests(new Promtool(found))) as SuiteFactory)
  const reason = found.message.split('\n')[0]
  if (process.env.CI) throw new Error(`promtool cannot be had: ${reason}`)
  console.warn(`SKIPPED: ${name}. promtool (Debian's package prometheus) cannot be had: ${reason}`)
  describe.skip(name, (() => tests(new Promtool(''))) as SuiteFactory)
}
