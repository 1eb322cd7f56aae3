// A workspace's token: whether it is there, and whether others can read it. It is never shown, not even in part.
import { stat } from 'node:fs/promises'
import type { SecretPlace } from '../../config/kept-secret.ts'
import type { WorkspaceConfig } from '../../config.ts'
import { examine, type Finding, ok, warn } from './findings.ts'

const placeText = (kept: SecretPlace): string => ('env' in kept ? `the variable ${kept.env}` : `the file ${kept.file}`)

/** True where the file's owner is not the only one who can read it; Windows has no such mode. */
const isOpen = async (file: string): Promise<boolean> =>
  process.platform !== 'win32' && ((await stat(file)).mode & 0o077) !== 0

export function tokenCheck(workspace: WorkspaceConfig): Promise<Finding[]> {
  const subject = { check: 'token', workspaceId: workspace.id }
  const { tokenKept } = workspace
  return examine(subject, async () => {
    workspace.readToken()
    const found = `is there, in ${placeText(tokenKept)}`
    if ('file' in tokenKept && (await isOpen(tokenKept.file)))
      return [warn(subject, `${found}, which others can read`, `Close it to others: chmod 600 ${tokenKept.file}`)]
    return [ok(subject, found)]
  })
}
