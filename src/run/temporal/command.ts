// The Temporal CLI, which holds the dev server: on the PATH, else in the cache, else downloaded, else built from its Go module.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, constants, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { environmentWith, readToolPlaces, type ToolPlaces } from '../../config.ts'
import { ConvohouseError } from '../../core/errors.ts'
import { MINUTE } from '../../core/time.ts'
import { downloadTemporal, RELEASES } from './download.ts'

const run = promisify(execFile)

/** The newest that we have been run with; its server is 1.29. */
export const TEMPORAL_VERSION = '1.5.1'

const MODULE = `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_VERSION}`
/** A build takes three minutes on two cores, and downloads a few hundred MB before. */
const BUILD_MS = 15 * MINUTE

const EXECUTABLE = process.platform === 'win32' ? 'temporal.exe' : 'temporal'

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  )

const cachedIn = ({ cache }: ToolPlaces): string => join(cache, `temporal-cli-${TEMPORAL_VERSION}`, EXECUTABLE)

/** Where the Temporal CLI is now: on the PATH, or in the cache; null where it is in neither. */
export async function findTemporal(places: ToolPlaces = readToolPlaces()): Promise<string | null> {
  for (const folder of places.searchPath) {
    const path = join(folder, EXECUTABLE)
    if (await isExecutable(path)) return path
  }
  const cached = cachedIn(places)
  return (await isExecutable(cached)) ? cached : null
}

/** Has `make` put the executable into a folder of its own, which then becomes the cache's: nobody ever sees half of it. */
async function intoCache(places: ToolPlaces, make: (folder: string) => Promise<void>): Promise<string> {
  const path = cachedIn(places)
  const folder = `${join(path, '..')}.${randomBytes(4).toString('hex')}`
  await mkdir(folder, { recursive: true })
  try {
    await make(folder)
    await mkdir(join(path, '..'), { recursive: true })
    await rename(join(folder, EXECUTABLE), path)
    return path
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @throws where there is none, before anybody is told to wait */
const expectGo = (): Promise<unknown> => run('go', ['version'])

async function build(folder: string): Promise<void> {
  await run('go', ['install', MODULE], { env: environmentWith({ GOBIN: folder }), timeout: BUILD_MS })
}

const reasonOf = (error: unknown): string =>
  (error as { code?: unknown }).code === 'ENOENT'
    ? 'there is no Go here'
    : String((error as Error).message).split('\n')[0]!

/**
 * Finds the Temporal CLI, or gets it: by download, or with Go. `tell` is told what takes a while.
 * @throws TEMPORAL_MISSING
 */
export async function provideTemporal(
  options: { places?: ToolPlaces; releases?: string; tell?: (line: string) => void } = {},
): Promise<string> {
  const { places = readToolPlaces(), releases = RELEASES, tell = () => {} } = options
  const found = await findTemporal(places)
  if (found) return found
  const ways: [string, (folder: string) => Promise<void>][] = [
    ['Downloading', folder => downloadTemporal({ folder, releases, version: TEMPORAL_VERSION })],
    ['Building (three minutes, once)', build],
  ]
  const refused: string[] = []
  for (const [doing, make] of ways) {
    try {
      if (make === build) await expectGo()
      tell(`${doing} the Temporal CLI ${TEMPORAL_VERSION} …`)
      return await intoCache(places, make)
    } catch (error) {
      refused.push(reasonOf(error))
    }
  }
  throw new ConvohouseError('TEMPORAL_MISSING', {
    what: `There is no Temporal CLI on the PATH or in ${places.cache}; it could not be downloaded (${refused[0]}), nor built (${refused[1]}).`,
    mend: 'Install it (https://docs.temporal.io/cli), or configure the address of a Temporal server (TEMPORAL_ADDRESS).',
  })
}
