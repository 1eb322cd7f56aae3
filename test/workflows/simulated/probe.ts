// Recognises probes among the requests that the sandbox served.
import type { ServedRequest } from '../../../src/sandbox/request-log.ts'

export const PROBE_TS = '1000000000000'

/** A request for an empty window: it reports the usage, bills nothing, and its answer does not land. */
export const isProbe = (request: ServedRequest): boolean => request.query.toTs === PROBE_TS
