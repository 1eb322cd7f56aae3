// Where Temporal is: as Temporal's own variables and profile files say (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_PROFILE, …), for
// clients and workers alike. A worker's connection is its own file: its package takes a second to load.
import { Client, Connection } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { ConvohouseError } from '../../../core/errors.ts'
import { dataConverter } from '../payload-codec.ts'
import { RETRYING } from './grpc-retry.ts'

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

/** True where Temporal's own variables or profile files say where a server is. */
export const isTemporalConfigured = (): boolean => loadClientConnectConfig().connectionOptions.address !== undefined

/** In words where it is known; a worker's connection tells the error of its library, in Rust. */
function reasonOf({ message }: Error): string {
  if (/Connection ?refused|ECONNREFUSED/.test(message)) return 'nothing listens there (the connection was refused)'
  if (/dns error|ENOTFOUND|EAI_AGAIN|lookup address/.test(message)) return 'its host name cannot be resolved'
  if (/Failed to connect before the deadline/.test(message)) return 'no connection came about in time'
  return message.replace(/\.$/, '')
}

export const unreachable = ({ address, namespace }: TemporalPlace, cause: unknown): ConvohouseError =>
  new ConvohouseError('TEMPORAL_UNREACHABLE', {
    what: `No Temporal server can be used at ${address}, namespace ${namespace}: ${reasonOf(cause as Error)}.`,
    hint: 'Start one (`convohouse up`, or `temporal server start-dev`), or set TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.',
    cause,
  })

/** Of gRPC: a key that may work in a namespace, and not look at it. */
const PERMISSION_DENIED = 7

/** A server is of no use without the namespace. @throws what the server says of it */
export async function expectNamespace(
  { workflowService }: Pick<Connection, 'workflowService'>,
  { namespace }: TemporalPlace,
): Promise<void> {
  try {
    await workflowService.describeNamespace({ namespace })
  } catch (error) {
    if ((error as { code?: unknown }).code !== PERMISSION_DENIED) throw error
  }
}

/** A client that starts and asks workflows. @throws TEMPORAL_UNREACHABLE */
export async function connectClient(given: Partial<TemporalPlace> = {}): Promise<Client> {
  const { connectionOptions, place } = settingsAt(given)
  let opened: Connection | null = null
  try {
    opened = await Connection.connect({ ...connectionOptions, address: place.address, interceptors: RETRYING })
    await expectNamespace(opened, place)
    return new Client({ connection: opened, namespace: place.namespace, dataConverter })
  } catch (cause) {
    await opened?.close()
    throw unreachable(place, cause)
  }
}
