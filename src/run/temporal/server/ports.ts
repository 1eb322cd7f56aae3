// Ports of this machine that nobody listens at.
import { createServer } from 'node:net'

/** Whether somebody else takes it a moment later nobody knows. */
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

/** Any that is free. */
export async function freePort(): Promise<number> {
  const port = await portIfFree(0)
  if (port === null) throw new Error('this machine has no free port')
  return port
}

/** The one where people look first, where it is free; else any. */
export const usualPort = async (port: number): Promise<number> => (await portIfFree(port)) ?? freePort()
