// Determines which files and folders of the landing are loaded, and which folders retention may remove.
import { quoteText } from '../../catalog/layout.ts'
import { iso, type Writer } from '../connection.ts'

/** Returns the completely loaded folders, each with its stamp at the time of loading. */
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
      folders.map(({ folder, stamp }) => ({ workspace_id: workspaceId, folder, stamp })),
    )
  })
}

/** Returns the loaded files: all, or those in these folders. */
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

/**
 * Returns those of the folders whose loaded pages all belong to finished windows and to requests before `beforeMs`. Pages of
 * an unfinished window stay: if the warehouse were lost, the window would restart and bill its conversations again.
 */
export async function foldersOfFinishedWindows(
  writer: Pick<Writer, 'rows'>,
  workspaceId: string,
  { folders, beforeMs }: { folders: readonly string[]; beforeMs: number },
): Promise<Set<string>> {
  if (folders.length === 0) return new Set()
  const here = `workspace_id = ${quoteText(workspaceId)}`
  // A page's window is part of its name.
  const rows = await writer.rows<{ folder: string }>(
    `SELECT parse_dirpath(file, 'forward_slash') AS folder FROM _requests AS r
     LEFT JOIN (SELECT agent_id, progress->>'$.window.name' AS name, true AS is_open FROM _windows WHERE ${here} AND NOT done) AS w
       ON w.agent_id = r.agent_id AND w.name = regexp_extract(r.file, '([^/]+)\\.g\\d+\\.p\\d+\\.json\\.gz$', 1)
     WHERE ${here} GROUP BY folder HAVING max(r.sent_at) < TIMESTAMPTZ '${iso(beforeMs)}' AND NOT bool_or(coalesce(is_open, false))`,
  )
  const finished = new Set(rows.map(({ folder }) => folder))
  return new Set(folders.filter(folder => finished.has(folder)))
}
