// The tokens of `convohouse serve`, as files beside the landing, so that a rebuilt warehouse keeps them. A file has the SHA-256 of its
// token, never the token. Each token has a file of its own, so that processes that create, revoke and use tokens need no lock:
//
//   <home>/access-tokens/<name>.json    mode 0600
//   <home>/access-tokens/<name>.used    when it was last used
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { makeFolder, namesIn, removeFiles, writeOnce } from '../files/durable.ts'

/** Names of tokens are names of files. */
export const TOKEN_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/

const storedToken = z.object({
  name: z.string(),
  /** Hexadecimal. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  scopes: z.array(z.string()),
  /** Null for never. */
  expiresMs: z.number().nullable(),
})

export type StoredToken = z.infer<typeof storedToken>

/** The tokens of a data folder. Each call reads the files, so that a change takes effect at once in all processes. */
export interface AccessTokens {
  /** Stores a token durably. @returns false if the name is taken @throws HOME_UNUSABLE */
  create(token: StoredToken): Promise<boolean>
  /** Returns null if there is no such token, or if its file is damaged. @throws HOME_UNUSABLE */
  find(name: string): Promise<StoredToken | null>
  /** Returns the names of all tokens, including expired and damaged ones. @throws HOME_UNUSABLE */
  names(): Promise<string[]>
  lastUsedMs(name: string): Promise<number | null>
  /** Never fails. */
  noteUse(name: string, nowMs: number): Promise<void>
  /** Removes a token durably. @returns false if there is none @throws HOME_UNUSABLE */
  revoke(name: string): Promise<boolean>
}

const ENDING = '.json'

/** Opens the tokens of a data folder. Creates nothing yet. */
export function openAccessTokens(home: string): AccessTokens {
  const folder = join(home, 'access-tokens')
  const fileOf = (name: string) => join(folder, `${name}${ENDING}`)
  const useFileOf = (name: string) => join(folder, `${name}.used`)
  const names = async () =>
    (await namesIn(folder))
      .filter(file => file.endsWith(ENDING) && !file.startsWith('.'))
      .map(file => file.slice(0, -ENDING.length))
      .sort()
  return {
    names,
    async create(token) {
      await makeFolder(folder)
      // The use of an earlier token of that name.
      await removeFiles([useFileOf(token.name)])
      try {
        await writeOnce(fileOf(token.name), [Buffer.from(`${JSON.stringify(token)}\n`)])
        return true
      } catch (error) {
        if (hasCode(error, 'EEXIST')) return false
        throw error
      }
    },
    async find(name) {
      const text = await readFile(fileOf(name), 'utf8').catch(cause => {
        if (hasCode(cause, 'ENOENT')) return 'null'
        throw homeUnusable(fileOf(name), cause)
      })
      return tokenIn(text)
    },
    async lastUsedMs(name) {
      const ms = Date.parse(await readFile(useFileOf(name), 'utf8').catch(() => ''))
      return Number.isNaN(ms) ? null : ms
    },
    noteUse: (name, nowMs) =>
      writeFile(useFileOf(name), new Date(nowMs).toISOString(), { mode: 0o600 }).catch(() => {}),
    async revoke(name) {
      if (!(await names()).includes(name)) return false
      await removeFiles([fileOf(name), useFileOf(name)])
      return true
    },
  }
}

function tokenIn(text: string): StoredToken | null {
  try {
    return storedToken.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
