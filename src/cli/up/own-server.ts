// The Temporal server that `up` works on: the configured one, or one of our own, in the data folder.
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { settingsAt, type TemporalPlace } from '../../run/temporal/client/connection.ts'
import { startDevServer } from '../../run/temporal/server/dev-server.ts'
import type { UpFlags } from './up-flags.ts'

export interface ServerOfUp {
  place: TemporalPlace
  /** Our own server's; null where one is configured. */
  own: { file: string; uiUrl: string | null; ended: Promise<void> } | null
  stop(): Promise<void>
}

/** `command`: the Temporal CLI; null where a server is configured. @throws TEMPORAL_UNREACHABLE */
export async function serverOfUp(options: {
  config: Config
  flags: UpFlags
  command: string | null
}): Promise<ServerOfUp> {
  const { config, flags, command } = options
  const { place } = settingsAt({})
  if (command === null) return { place, own: null, stop: async () => {} }
  const file = join(config.home, 'temporal.db')
  const { address, uiUrl, ended, stop } = await startDevServer({
    command,
    file,
    usual: true,
    namespaces: place.namespace === 'default' ? [] : [place.namespace],
    uiPort: flags.uiPort ?? 0,
    ...(flags.port !== undefined && { port: flags.port }),
  })
  return { place: { ...place, address }, own: { file, uiUrl, ended }, stop }
}
