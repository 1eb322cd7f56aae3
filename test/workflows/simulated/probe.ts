// Recognises probes among the requests that the sandbox served.
import { DAY } from '../../../src/core/time.ts'
import type { ServedRequest } from '../../../src/sandbox/request-log.ts'

/** Start of the probed day: a probe requests one millisecond of it. */
const FIRST_PROBE_MS = 1e12

/** True for a request of an empty window: it reports the usage, bills nothing, and its answer does not land. */
export const isProbe = ({ query }: ServedRequest): boolean => isProbeQuery(query.fromTs, query.toTs)

/** True if the query parameters are those of a probe. */
export const isProbeQuery = (fromTs: string | null | undefined, toTs: string | null | undefined): boolean =>
  fromTs === toTs && Number(toTs) >= FIRST_PROBE_MS && Number(toTs) < FIRST_PROBE_MS + DAY
