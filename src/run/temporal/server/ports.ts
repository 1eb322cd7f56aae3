// Free loopback ports.
import { createServer } from 'node:net'

/** The port if it is free now, else null; another process may take it before the caller does. */
async function portIfFree(port: number): Promise<number | null> {
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  } catch {
    return null
  }
  const taken = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return taken.port
}

/** Any free port. */
export async function freePort(): Promise<number> {
  const port = await portIfFree(0)
  if (port === null) throw new Error('this machine has no free port')
  return port
}

/** The preferred port if it is free, else any free port. */
export const usualPort = async (port: number): Promise<number> => (await portIfFree(port)) ?? freePort()
