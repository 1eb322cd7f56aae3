// Servers whose API cannot be reached, each for a different reason, on real ports.
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const CERTIFICATES = join(import.meta.dirname, 'certificates')

/** The authority that has signed the certificates, as a file. */
export const AUTHORITY = join(CERTIFICATES, 'authority.pem')

async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

function tlsServer(certificate: 'self-signed' | 'expired' | 'other-host'): Promise<number> {
  const pem = readFileSync(join(CERTIFICATES, `${certificate}.pem`))
  return listening(createTlsServer({ key: pem, cert: pem }, (_, response) => void response.end('{}')))
}

async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

/** Accepts connections and never answers. */
async function silentPort(): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
  })
  return listening(server)
}

/** API addresses, by the reason why each cannot be reached. */
export async function unreachedAddresses() {
  const tls = async (certificate: Parameters<typeof tlsServer>[0]) =>
    `https://127.0.0.1:${await tlsServer(certificate)}`
  const plain = await listening(createHttpServer((_, response) => void response.end('{}')))
  const cutting = createServer(socket => void socket.once('data', () => socket.destroy()).on('error', () => {}))
  return {
    closed: `http://127.0.0.1:${await closedPort()}`,
    unknown: 'https://no-such-host.invalid',
    'self-signed': await tls('self-signed'),
    expired: await tls('expired'),
    'other-host': await tls('other-host'),
    'no-tls': `https://127.0.0.1:${plain}`,
    'no-http': `http://127.0.0.1:${await tlsServer('self-signed')}`,
    cutting: `http://127.0.0.1:${await listening(cutting)}`,
    silent: `http://127.0.0.1:${await silentPort()}`,
  }
}
