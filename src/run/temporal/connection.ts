// Where Temporal is: as Temporal's own variables and profile files say (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_PROFILE, …), for
// clients and workers alike. A worker's connection is its own file: its package takes a second to load.
import { Client, Connection } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { ConvohouseError } from '../../core/errors.ts'

export interface TemporalPlace {
  address: string
  namespace: string
}

type Settings = ReturnType<typeof loadClientConnectConfig>

/** Temporal's own default. */
const LOCAL = 'localhost:7233'

export function settingsAt(place: Partial<TemporalPlace>): Settings & { place: TemporalPlace } {
  const settings = loadClientConnectConfig()
  const address = place.address ?? settings.connectionOptions.address ?? LOCAL
  const namespace = place.namespace ?? settings.namespace ?? 'default'
  return { ...settings, place: { address, namespace } }
}

export const unreachable = ({ address, namespace }: TemporalPlace, cause: unknown): ConvohouseError =>
  new ConvohouseError('TEMPORAL_UNREACHABLE', {
    what: `No Temporal server can be used at ${address}, namespace ${namespace}: ${(cause as Error).message}.`,
    mend: 'Start one (`convohouse up`, or `temporal server start-dev`), or set TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.',
    cause,
  })

/** A client that starts and asks workflows. @throws TEMPORAL_UNREACHABLE */
export async function connectClient(given: Partial<TemporalPlace> = {}): Promise<Client> {
  const { connectionOptions, place } = settingsAt(given)
  try {
    const connection = await Connection.connect({ ...connectionOptions, address: place.address })
    return new Client({ connection, namespace: place.namespace })
  } catch (cause) {
    throw unreachable(place, cause)
  }
}
