// Stores of a data folder besides the warehouse. Only this file chooses the implementation of the landing and of the lease log.
import { type AccessTokens, openAccessTokens } from '../landing/access-tokens.ts'
import { openLanding } from '../landing/folder-landing.ts'
import type { LandingStore } from '../landing/landing.ts'
import { type LeaseLog, openLeaseLog } from '../landing/lease-log.ts'

export interface Stores {
  landing: LandingStore
  /** Opens a lease log. `run` names the writer, so that two writers never share a file. */
  leaseLog(options: { workspaceId: string; run: string }): LeaseLog
  accessTokens: AccessTokens
}

/** Opens the stores of a data folder. Files and folders are created only when something is written. */
export const openStores = (home: string): Stores => ({
  landing: openLanding(home),
  leaseLog: options => openLeaseLog({ home, ...options }),
  accessTokens: openAccessTokens(home),
})
