// The connection of a worker.
import { NativeConnection } from '@temporalio/worker'
import { settingsAt, type TemporalPlace, unreachable } from './connection.ts'

/** A connection for workers, and the namespace that they work in. @throws TEMPORAL_UNREACHABLE */
export async function connectWorker(
  given: Partial<TemporalPlace> = {},
): Promise<{ connection: NativeConnection; place: TemporalPlace }> {
  const { connectionOptions, place } = settingsAt(given)
  try {
    return { connection: await NativeConnection.connect({ ...connectionOptions, address: place.address }), place }
  } catch (cause) {
    throw unreachable(place, cause)
  }
}
