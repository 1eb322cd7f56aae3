// A worker's connection, apart from the client's: the worker package takes a second to load.
import { NativeConnection } from '@temporalio/worker'
import { expectNamespace, settingsAt, type TemporalPlace, unreachable } from '../client/connection.ts'

/** Connects, and checks the namespace. @throws TEMPORAL_UNREACHABLE */
export async function connectWorker(
  given: Partial<TemporalPlace> = {},
): Promise<{ connection: NativeConnection; place: TemporalPlace }> {
  const { connectionOptions, place } = settingsAt(given)
  let opened: NativeConnection | null = null
  try {
    opened = await NativeConnection.connect({ ...connectionOptions, address: place.address })
    await expectNamespace(opened, place)
    return { connection: opened, place }
  } catch (cause) {
    await opened?.close()
    throw unreachable(place, cause)
  }
}
