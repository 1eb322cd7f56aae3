// Whose an event is: the workspace's whose secret it carries. Every secret is compared, in constant time, whichever fits.
import { createHash, timingSafeEqual } from 'node:crypto'

export interface WorkspaceSecrets {
  id: string
  /** While one is exchanged, both are valid. */
  secrets: readonly string[]
}

/** The workspace that the secret opens, among all or at the one that was addressed; null where it opens none. */
export type Door = (given: unknown, addressed: string | null) => WorkspaceSecrets | null

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

export function makeDoor(workspaces: readonly WorkspaceSecrets[]): Door {
  const keys = workspaces.flatMap(workspace => workspace.secrets.map(secret => ({ workspace, digest: digest(secret) })))
  return (given, addressed) => {
    const told = digest(typeof given === 'string' ? given : '')
    let opened: WorkspaceSecrets | null = null
    for (const { workspace, digest } of keys) {
      const fits = timingSafeEqual(told, digest)
      if (fits && (addressed === null || addressed === workspace.id)) opened = workspace
    }
    return opened
  }
}
