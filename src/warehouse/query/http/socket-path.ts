// The place of a data folder's query socket, and whether a process answers there. Loads no DuckDB.
import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { ConvohouseError } from '../../../core/errors.ts'

/** True unless the connection is refused: only that proves that no process listens. */
export function answers(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(!/ECONNREFUSED|ENOENT/.test(error.code ?? '')))
  })
}

/** Maximum number of bytes in a socket's path: 108 on Linux and 104 on macOS, each including a final NUL. */
const LONGEST_PATH = 103

/**
 * Returns the socket of a data folder: `query.sock` in it; a named pipe on Windows. It is the same for all spellings of
 * the folder's path, so that client and server agree. @throws HOME_UNUSABLE
 */
export async function socketPath(home: string): Promise<string> {
  const real = await realpath(home).catch(cause => {
    throw new ConvohouseError('HOME_UNUSABLE', {
      what: `The data folder ${home} cannot be opened.`,
      hint: 'Check that it exists, and check its permissions.',
      cause,
    })
  })
  if (process.platform === 'win32')
    return `\\\\.\\pipe\\convohouse-${createHash('sha256').update(real).digest('hex').slice(0, 24)}`
  const path = join(real, 'query.sock')
  if (Buffer.byteLength(path) <= LONGEST_PATH) return path
  throw new ConvohouseError('HOME_UNUSABLE', {
    what: `The path of the data folder ${real} is too long: the path of its query socket has more than ${LONGEST_PATH} bytes.`,
    hint: 'Move the data folder to a shorter path.',
  })
}
