// The flags of `convohouse up`.
import type { ListenAddress } from '../../config/address.ts'

export interface UpFlags {
  config?: string
  /** ms, for workspaces without a schedule. */
  every: number
  port?: number
  uiPort?: number
  metrics?: ListenAddress
}
