// The connection of a worker.
import { NativeConnection } from '@temporalio/worker'
import { expectNamespace, settingsAt, type TemporalPlace, unreachable } from '../client/connection.ts'

/** A connection for workers, and the namespace that they work in. @throws TEMPORAL_UNREACHABLE */
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
