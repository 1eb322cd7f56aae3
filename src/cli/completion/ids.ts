// Ids that a person may mean, for the shell that asks while they type: at once, and quietly where they cannot be told.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, readConfig } from '../../config.ts'
import { idOfSegment } from '../../files/path-segment.ts'
import { streamFolder } from '../../landing/names.ts'
import type { IdKind } from './model.ts'

/** What a flag has been given on the line so far: `--config x`, `--config=x` or `-c x`. */
export function givenTo(names: readonly string[], words: readonly string[]): string | undefined {
  for (const [at, word] of words.entries()) {
    if (names.includes(word)) return words[at + 1] === '=' ? words[at + 2] : words[at + 1]
    const name = names.find(candidate => candidate.startsWith('--') && word.startsWith(`${candidate}=`))
    if (name) return word.slice(name.length + 1)
  }
  return undefined
}

/** Agents with landed pages: their folders are named by their ids, so no warehouse has to be opened. */
async function landedAgents({ home, workspaces }: Config, workspace: string | undefined): Promise<string[]> {
  const ids = workspaces.map(({ id }) => id).filter(id => workspace === undefined || id === workspace)
  const folders = ids.map(id => join(home, 'landing', streamFolder(id, 'conversations', null)))
  const names = await Promise.all(folders.map(folder => readdir(folder).catch(() => [])))
  return names.flat().flatMap(name => idOfSegment(name) ?? [])
}

/** Ids of that kind; none where there is no configuration. `words` are those of the line before the one that is typed. */
export async function idsOf(kind: IdKind, words: readonly string[]): Promise<string[]> {
  const path = givenTo(['-c', '--config'], words)
  try {
    const config = readConfig(path === undefined ? {} : { path })
    if (kind === 'workspace') return config.workspaces.map(({ id }) => id)
    return [...new Set(await landedAgents(config, givenTo(['-w', '--workspace'], words)))].sort()
  } catch {
    return []
  }
}
