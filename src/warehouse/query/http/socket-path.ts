// Where the process that holds the warehouse listens.

import { createHash } from 'node:crypto'
import { lstat, mkdir, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConvohouseError } from '../../../core/errors.ts'

/** Bytes of a socket's path: 108 on Linux, 104 on macOS, both with a closing NUL. */
const LONGEST_PATH = 103

/**
 * The socket of a data folder: `query.sock` in it, or, where that path is too long for a socket, in a folder of this
 * user's under the system's temporary folder; a named pipe on Windows. Whoever asks and whoever answers get the same
 * path, by whichever way they name the data folder.
 *
 * @throws HOME_UNUSABLE where the temporary folder has been prepared by somebody else
 */
export async function socketPath(home: string): Promise<string> {
  const real = await realpath(home).catch(cause => {
    throw new ConvohouseError('HOME_UNUSABLE', {
      what: `The data folder ${home} cannot be opened.`,
      hint: 'Check that it exists, and its permissions.',
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

/** Others can write to the temporary folder, and could lay a socket of theirs under that name. */
async function ownFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST') throw foreign(folder, cause)
  })
  const found = await lstat(folder)
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) throw foreign(folder)
}

const foreign = (folder: string, cause?: unknown) =>
  new ConvohouseError('HOME_UNUSABLE', {
    what: `The folder ${folder} is not one that only you can open.`,
    hint: 'Remove it, or use a data folder with a shorter path.',
    ...(cause !== undefined && { cause }),
  })
