// The flags of `convohouse up`.
export interface UpFlags {
  config?: string
  /** ms, for workspaces without a schedule. */
  every: number
  port?: number
  uiPort?: number
  metrics?: string
}
