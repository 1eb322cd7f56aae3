// Connects to the Temporal server that TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_PROFILE or a profile file names. Workers connect
// in worker-connection.ts: the worker package takes a second to load.
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

/** True where an environment variable or a profile file names a server. */
export const isTemporalConfigured = (): boolean => loadClientConnectConfig().connectionOptions.address !== undefined

/** Plain words for the usual failures. A worker's connection reports the errors of its Rust library. */
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

/** gRPC code of an API key that may use a namespace but not describe it. */
const PERMISSION_DENIED = 7

/** Checks that the namespace exists. @throws the server's error */
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

/** Connects a client. @throws TEMPORAL_UNREACHABLE */
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
