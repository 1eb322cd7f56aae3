// Connects to the Temporal server named by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_PROFILE or a profile file.
// Workers connect in worker.ts, because the SDK's worker package takes a second to load.

import { once, setMaxListeners } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import {
  Client,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { ConvohouseError } from '../../../core/errors.ts'
import { SECOND } from '../../../core/time.ts'
import { dataConverter } from '../payload-codec.ts'

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number]
type Call = ReturnType<Interceptor>

/** gRPC status code of a cancelled call. */
const CANCELLED = 1

/** Returns a call that is cancelled as soon as it starts. */
const ended = (details: string) =>
  ({
    start(metadata, listener) {
      // A unary caller expects a message before the status.
      listener?.onReceiveMessage?.(null)
      listener?.onReceiveStatus?.({ code: CANCELLED, details, metadata })
    },
    sendMessage() {},
    sendMessageWithContext() {},
    startRead() {},
    halfClose() {},
    cancelWithStatus() {},
    getPeer: () => '',
  }) satisfies Partial<Call> as unknown as Call

const unlessClosed: Interceptor = (options, nextCall) => {
  try {
    return nextCall(options) as Call
  } catch (error) {
    return ended((error as Error).message)
  }
}

/**
 * The SDK's own interceptor retries calls. If its retry timer fires after the client was closed, the call throws outside of
 * any caller and would end the process. The second, inner interceptor turns that throw into a cancelled call.
 */
const RETRYING: Interceptor[] = [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), unlessClosed]

export interface TemporalPlace {
  address: string
  namespace: string
}

type Settings = ReturnType<typeof loadClientConnectConfig>

/** Temporal's own default address. */
const LOCAL = 'localhost:7233'

export function settingsAt(place: Partial<TemporalPlace>): Settings & { place: TemporalPlace } {
  const settings = loadClientConnectConfig()
  const address = place.address ?? settings.connectionOptions.address ?? LOCAL
  const namespace = place.namespace ?? settings.namespace ?? 'default'
  return { ...settings, place: { address, namespace } }
}

/** True if an environment variable or a profile file names a server. */
export const isTemporalConfigured = (): boolean => loadClientConnectConfig().connectionOptions.address !== undefined

/** Describes the usual failures in plain words; the messages of a worker's connection come from the SDK's Rust library. */
export function reasonOf({ message }: Pick<Error, 'message'>): string {
  if (/Connection ?refused|ECONNREFUSED/.test(message)) return 'nothing listens there (the connection was refused)'
  if (/dns error|ENOTFOUND|EAI_AGAIN|lookup address/.test(message)) return 'its host name cannot be resolved'
  if (/Failed to connect before the deadline/.test(message)) return 'the connection attempt timed out'
  return /\w::\w|[{}]/.test(message) ? 'the connection failed' : message.replace(/\.$/, '')
}

export const unreachable = ({ address, namespace }: TemporalPlace, cause: unknown): ConvohouseError =>
  new ConvohouseError('TEMPORAL_UNREACHABLE', {
    what: `No Temporal server can be used at ${address}, namespace ${namespace}: ${reasonOf(cause as Error)}.`,
    hint: 'Start one (`temporal server start-dev`; `convohouse up` does so if the program `temporal` is installed), or set TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.',
    cause,
  })

/** gRPC code that the server returns to an API key that may use a namespace but not describe it. */
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

/** Throws if this machine refuses connections at the address, which the SDK would try again for ten seconds. */
async function expectListener(address: string): Promise<void> {
  const [, host, port] = /^(localhost|127\.0\.0\.1|\[::1\]):(\d+)$/.exec(address) ?? []
  if (host === undefined) return
  const socket = connect({ host: host.replace(/[[\]]/g, ''), port: Number(port), timeout: SECOND })
  try {
    await Promise.race([once(socket, 'connect'), once(socket, 'timeout')])
  } catch (error) {
    // The error for a name with several addresses has no text.
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') throw new Error('ECONNREFUSED', { cause: error })
  } finally {
    socket.destroy()
  }
}

/** Connects a client. @throws TEMPORAL_UNREACHABLE */
export async function connectClient(given: Partial<TemporalPlace> = {}): Promise<Client> {
  const { connectionOptions, place } = settingsAt(given)
  let opened: Connection | null = null
  try {
    await expectListener(place.address)
    opened = await Connection.connect({ ...connectionOptions, address: place.address, interceptors: RETRYING })
    await expectNamespace(opened, place)
    return new Client({ connection: opened, namespace: place.namespace, dataConverter })
  } catch (cause) {
    await opened?.close()
    throw unreachable(place, cause)
  }
}

/**
 * Cancels the client calls made within `work` when `signal` aborts. The SDK keeps every call that used a signal in
 * memory for the signal's lifetime, so each `work` gets a separate signal.
 */
export async function abortable<T>(client: Client, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const own = new AbortController()
  setMaxListeners(0, own.signal)
  const abort = () => own.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    return await client.withAbortSignal(own.signal, work)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

// Returns the file in the data folder that names the Temporal server of the worker that holds the warehouse. Commands beside the
// worker, whose environment may name no server, read it. After a kill it stays until the next worker, and its server may not answer.

const placeFile = (home: string): string => join(home, 'temporal.json')

/** Stores the place for other commands. A full disk is no error: they then need TEMPORAL_ADDRESS. */
export async function storePlace(home: string, { address, namespace }: TemporalPlace): Promise<void> {
  await writeFile(placeFile(home), `${JSON.stringify({ address, namespace })}\n`).catch(() => {})
}

export const removePlace = (home: string): Promise<void> => rm(placeFile(home), { force: true }).catch(() => {})

/** Returns the stored place; null if no worker has stored one. */
export async function storedPlace(home: string): Promise<TemporalPlace | null> {
  try {
    const { address, namespace } = JSON.parse(await readFile(placeFile(home), 'utf8'))
    return typeof address === 'string' && typeof namespace === 'string' ? { address, namespace } : null
  } catch {
    return null
  }
}
