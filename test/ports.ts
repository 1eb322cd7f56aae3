// Servers of a test on free ports of this machine.
import { Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { onTestFinished } from 'vitest'

const opened = async (server: Server, port = 0): Promise<number> => {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Opens the server, which is closed when the test ends. @returns its port */
export async function listening(server: Server): Promise<number> {
  onTestFinished(() => {
    if (server instanceof HttpServer) server.closeAllConnections()
    server.close()
  })
  return opened(server)
}

/** Returns a free port below those that the system gives to outgoing connections, since one of these would take it until it is used. */
export async function freePort(): Promise<number> {
  const server = createServer()
  try {
    const port = await opened(server, 10_000 + Math.floor(Math.random() * 20_000))
    await new Promise(resolve => server.close(resolve))
    return port
  } catch {
    return freePort()
  }
}
