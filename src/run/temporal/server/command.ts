// The Temporal CLI, which holds the dev server: on the PATH, else in the cache, else downloaded, else built from its Go module.
import { join } from 'node:path'
import { readToolPlaces, type ToolPlaces } from '../../../config.ts'
import { ConvohouseError } from '../../../core/errors.ts'
import { buildTemporal, findGo } from './build.ts'
import { downloadTemporal, RELEASES } from './download.ts'
import { executableName, firstIn } from './executables.ts'
import { intoCache } from './tool-cache.ts'

/** The newest that we have been run with; its server is 1.29. */
export const TEMPORAL_VERSION = '1.5.1'

const placeIn = ({ cache }: ToolPlaces): string => join(cache, `temporal-cli-${TEMPORAL_VERSION}`)

/** Where the Temporal CLI is now: on the PATH, or in the cache; null where it is in neither. */
export const findTemporal = (places: ToolPlaces = readToolPlaces()): Promise<string | null> =>
  firstIn([...places.searchPath, placeIn(places)], 'temporal')

const reasonOf = (error: unknown): string => String((error as Error).message).split('\n')[0]!

/**
 * Finds the Temporal CLI, or gets it: by download, or with Go. `tell` is told what takes a while; `background` is for whoever does
 * something else meanwhile; with `signal` it is given up, and leaves nothing.
 * @throws TEMPORAL_MISSING
 */
export async function provideTemporal(
  options: {
    places?: ToolPlaces
    releases?: string
    tell?: (line: string) => void
    background?: boolean
    signal?: AbortSignal
  } = {},
): Promise<string> {
  const { places = readToolPlaces(), releases = RELEASES, tell = () => {}, background = false, signal } = options
  const found = await findTemporal(places)
  if (found) return found
  const version = TEMPORAL_VERSION
  const { searchPath } = places
  const begin = (doing: string) => tell(`${doing} the Temporal CLI ${version} …`)
  const ways: ((folder: string) => Promise<void>)[] = [
    folder => {
      begin('Downloading')
      return downloadTemporal({ folder, releases, version, signal })
    },
    async folder => {
      const go = await findGo(searchPath)
      begin('Building (three minutes, once)')
      await buildTemporal({ go, folder, version, background, signal })
    },
  ]
  const refused: string[] = []
  for (const make of ways) {
    try {
      return await intoCache({ place: placeIn(places), name: executableName('temporal'), signal }, make)
    } catch (error) {
      refused.push(reasonOf(error))
    }
  }
  throw new ConvohouseError('TEMPORAL_MISSING', {
    what: `There is no Temporal CLI on the PATH or in ${places.cache}; it could not be downloaded (${refused[0]}), nor built (${refused[1]}).`,
    hint: 'Install it (https://docs.temporal.io/cli), or configure the address of a Temporal server (TEMPORAL_ADDRESS).',
  })
}
