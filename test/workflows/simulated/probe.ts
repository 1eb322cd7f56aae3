// Recognises probes among the requests that the sandbox served.
import { DAY } from '../../../src/core/time.ts'
import type { ServedRequest } from '../../../src/sandbox/request-log.ts'

/** Probes ask for one millisecond of a day that begins with this one. */
const FIRST_PROBE_MS = 1e12

/** A request for an empty window: it reports the usage, bills nothing, and its answer does not land. */
export const isProbe = ({ query }: ServedRequest): boolean => isProbeQuery(query.fromTs, query.toTs)

/** The same by the parameters of its query. */
export const isProbeQuery = (fromTs: string | null | undefined, toTs: string | null | undefined): boolean =>
  fromTs === toTs && Number(toTs) >= FIRST_PROBE_MS && Number(toTs) < FIRST_PROBE_MS + DAY
