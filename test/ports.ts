// Servers of a test on free ports of this machine.
import { Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { onTestFinished } from 'vitest'

const opened = async (server: Server): Promise<number> => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
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

export async function freePort(): Promise<number> {
  const server = createServer()
  const port = await opened(server)
  await new Promise(resolve => server.close(resolve))
  return port
}
