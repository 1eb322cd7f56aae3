// DuckDB's extensions, which only the process of a target loads: from a folder that the configuration names, else from the network. DuckDB
// checks their signature.
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { quoteText } from '../catalog/layout.ts'
import { ConvohouseError } from '../core/errors.ts'
import type { TargetDatabase } from './target-database.ts'
import type { ExtensionPlaces } from './target-port.ts'

const fileOf = (name: string): string => `${name}.duckdb_extension`

const unavailable = (name: string, what: string, cause?: unknown): ConvohouseError =>
  new ConvohouseError('EXTENSION_UNAVAILABLE', {
    what,
    hint: `Put the file ${fileOf(name)} of the same DuckDB version into the folder that \`extensions\` of the configuration (or CONVOHOUSE_EXTENSIONS) names: docs/publishing.md says where it comes from.`,
    cause,
  })

const reasonOf = (cause: unknown): string => String((cause as Error | undefined)?.message ?? cause).split('\n')[0]!

/** `folder`: the one that the configuration names. Downloaded extensions are stored in the data folder. */
export const extensionPlaces = (home: string, folder: string | null): ExtensionPlaces => ({
  folder,
  cache: join(home, 'publish', 'extensions'),
})

/** @throws EXTENSION_UNAVAILABLE */
export async function loadExtension(
  database: Pick<TargetDatabase, 'run'>,
  name: string,
  { folder, cache }: ExtensionPlaces,
): Promise<void> {
  // Without HOME, DuckDB finds no place of its own.
  for (const setting of ['home_directory', 'extension_directory', 'secret_directory'])
    await database.run(`SET ${setting} = ${quoteText(cache)}`)
  const file = folder === null ? null : join(folder, fileOf(name))
  if (file !== null && !existsSync(file)) throw unavailable(name, `There is no extension ${file}.`)
  try {
    if (file === null) {
      // DuckDB refuses to install into a home directory that does not exist.
      await mkdir(cache, { recursive: true, mode: 0o700 })
      await database.run(`INSTALL ${name}`)
    }
    await database.run(file === null ? `LOAD ${name}` : `LOAD ${quoteText(file)}`)
  } catch (cause) {
    const what =
      file === null ? `DuckDB's extension ${name} cannot be downloaded` : `The extension ${file} cannot be loaded`
    throw unavailable(name, `${what}: ${reasonOf(cause)}`, cause)
  }
}
