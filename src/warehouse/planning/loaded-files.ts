// Which files of the landing are loaded, and which of its folders completely.
import { quoteText } from '../../catalog/layout.ts'
import type { Writer } from '../connection.ts'

/** For each completely loaded folder, the stamp that it had when it was loaded. */
export async function loadedFolders(writer: Writer, workspaceId: string): Promise<Map<string, string>> {
  const rows = await writer.rows<{ folder: string; stamp: string }>(
    `SELECT folder, stamp FROM _folders WHERE workspace_id = ${quoteText(workspaceId)}`,
  )
  return new Map(rows.map(row => [row.folder, row.stamp]))
}

/** Records completely loaded folders. */
export async function recordLoadedFolders(
  writer: Writer,
  workspaceId: string,
  folders: readonly { folder: string; stamp: string }[],
): Promise<void> {
  if (folders.length === 0) return
  const names = folders.map(({ folder }) => quoteText(folder)).join(', ')
  await writer.transaction(async () => {
    await writer.run(`DELETE FROM _folders WHERE workspace_id = ${quoteText(workspaceId)} AND folder IN (${names})`)
    await writer.append(
      '_folders',
      { workspace_id: 'VARCHAR', folder: 'VARCHAR', stamp: 'VARCHAR' },
      folders.map(({ folder, stamp }) => ({ workspace_id: workspaceId, folder, stamp })),
    )
  })
}

/** Loaded files: all, or those in these folders. */
export async function loadedFiles(
  writer: Writer,
  workspaceId: string,
  folders?: readonly string[],
): Promise<Set<string>> {
  const among = folders
    ? `AND parse_dirpath(file, 'forward_slash') IN (SELECT unnest(from_json($folders::JSON, '["VARCHAR"]')))`
    : ''
  const rows = await writer.rows<{ file: string }>(`SELECT file FROM _loads WHERE workspace_id = $workspace ${among}`, {
    workspace: workspaceId,
    ...(folders && { folders: JSON.stringify(folders) }),
  })
  return new Set(rows.map(row => row.file))
}
