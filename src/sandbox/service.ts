// Everything that a request is answered from.
import type { SandboxClock } from './clock.ts'
import type { Faults } from './faults/faults.ts'
import type { Conditions } from './limits/conditions.ts'
import type { Quota } from './limits/quota.ts'
import type { RateLimit } from './limits/rate-limit.ts'
import type { ResolvedOptions } from './options.ts'
import type { RequestLog } from './request-log.ts'
import type { Webhooks } from './webhooks/webhooks.ts'
import type { OrganizationList } from './world/organizations.ts'
import type { RecordCache, World } from './world/world.ts'
import type { WrittenState } from './written-state.ts'

export interface SandboxService {
  options: ResolvedOptions
  world: World
  clock: SandboxClock
  hour: RateLimit
  quota: Quota
  records: RecordCache
  faults: Faults
  conditions: Conditions
  log: RequestLog
  organizations: OrganizationList
  /** Holds the writes of callers. */
  state: WrittenState
  webhooks: Webhooks
}
