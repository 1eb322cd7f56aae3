// The path of the query socket.

import { createHash } from 'node:crypto'
import { lstat, mkdir, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConvohouseError } from '../../../core/errors.ts'

/** Most bytes of a socket's path: 108 on Linux and 104 on macOS, each including a final NUL. */
const LONGEST_PATH = 103

/**
 * The socket of a data folder: `query.sock` in it, or, if that path is too long for a socket, a file in a private folder below the system's
 * temporary folder; a named pipe on Windows. The same for all spellings of the data folder's path, so that client and server agree.
 *
 * @throws HOME_UNUSABLE where the private folder belongs to another user
 */
export async function socketPath(home: string): Promise<string> {
  const real = await realpath(home).catch(cause => {
    throw new ConvohouseError('HOME_UNUSABLE', {
      what: `The data folder ${home} cannot be opened.`,
      hint: 'Check that it exists, and check its permissions.',
      cause,
    })
  })
  const digest = createHash('sha256').update(real).digest('hex').slice(0, 24)
  if (process.platform === 'win32') return `\\\\.\\pipe\\convohouse-${digest}`
  const path = join(real, 'query.sock')
  if (Buffer.byteLength(path) <= LONGEST_PATH) return path
  const folder = join(tmpdir(), `convohouse-${digest}`)
  await ownFolder(folder)
  return join(folder, 'query.sock')
}

/** Other users can write to the temporary folder, and could create a socket under that name. */
async function ownFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST') throw foreign(folder, cause)
  })
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) throw foreign(folder)
}

const foreign = (folder: string, cause?: unknown) =>
  new ConvohouseError('HOME_UNUSABLE', {
    what: `Other users may have access to the folder ${folder}, which must be private.`,
    hint: 'Remove that folder; or shorten the path of the data folder, so that the socket can be in the data folder itself.',
    ...(cause !== undefined && { cause }),
  })
