// Which folders of the landing the warehouse no longer needs: retention may remove their pages.
import { quoteText } from '../../catalog/layout.ts'
import { iso, type Writer } from '../connection.ts'

/**
 * Of these folders, those with loaded pages only of requests before `beforeMs` and of finished windows. Pages of an unfinished window stay:
 * after the loss of the warehouse the window would begin again, and its conversations would be billed again.
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
     WHERE ${here} GROUP BY folder HAVING max(r.sent_at) < TIMESTAMP '${iso(beforeMs)}' AND NOT bool_or(coalesce(is_open, false))`,
  )
  const finished = new Set(rows.map(({ folder }) => folder))
  return new Set(folders.filter(folder => finished.has(folder)))
}
