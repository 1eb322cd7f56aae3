// Taking the socket's path: one that a killed process left behind is taken over, one that answers never.

import { chmod, lstat, rm } from 'node:fs/promises'
import { connect, type Server } from 'node:net'
import { ConvohouseError } from '../../core/errors.ts'

/**
 * Listens there, open to this user only.
 *
 * @throws WAREHOUSE_LOCKED where a living process listens there; HOME_UNUSABLE where the path cannot be used
 */
export async function listenAt(server: Server, path: string): Promise<void> {
  const first = await tryListen(server, path)
  if (first === undefined) return
  if (first.code !== 'EADDRINUSE') throw unusable(path, first)
  await removeStale(path)
  const second = await tryListen(server, path)
  if (second) throw second.code === 'EADDRINUSE' ? alive(path) : unusable(path, second)
}

async function tryListen(server: Server, path: string): Promise<NodeJS.ErrnoException | undefined> {
  // The socket is made inside `listen`, in this very turn, so it is never there with a wider mode.
  const mask = process.platform === 'win32' ? undefined : process.umask(0o177)
  const error = await new Promise<NodeJS.ErrnoException | undefined>(resolve => {
    server.once('error', resolve)
    server.listen(path, () => {
      server.off('error', resolve)
      resolve(undefined)
    })
    if (mask !== undefined) process.umask(mask)
  })
  if (!error && mask !== undefined) await chmod(path, 0o600)
  return error
}

async function removeStale(path: string): Promise<void> {
  const before = await lstat(path).catch(() => undefined)
  if (!before) return
  if (!before.isSocket()) throw unusable(path, new Error('it is no socket'))
  if (await answers(path)) throw alive(path)
  // Only the file that was found dead is removed, not one that somebody put there meanwhile.
  const now = await lstat(path).catch(() => undefined)
  if (now?.ino === before.ino) await rm(path, { force: true })
}

/** Only a refused connection proves that nobody listens; any other trouble counts as life. */
function answers(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(!/ECONNREFUSED|ENOENT/.test(error.code ?? '')))
  })
}

const alive = (path: string) =>
  new ConvohouseError('WAREHOUSE_LOCKED', {
    what: `Another process answers queries at ${path} already.`,
    hint: 'Stop it, or let it be the one that holds the warehouse.',
  })

const unusable = (path: string, cause: Error) =>
  new ConvohouseError('HOME_UNUSABLE', {
    what: `The query socket ${path} cannot be opened: ${cause.message}.`,
    hint: 'Remove what is at that path, or check its permissions.',
    cause,
  })
