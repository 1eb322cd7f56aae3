// Servers whose API cannot be reached, each for a different reason, on real ports.
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePort, listening } from '../ports.ts'

const CERTIFICATE = join(import.meta.dirname, 'self-signed.pem')

function tlsServer(): Promise<number> {
  const pem = readFileSync(CERTIFICATE)
  return listening(createTlsServer({ key: pem, cert: pem }, (_, response) => void response.end('{}')))
}

/** Opens a port that accepts connections and never answers. */
async function silentPort(): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
  })
  return listening(server)
}

/** Returns API addresses, by the reason why each cannot be reached. */
export async function unreachedAddresses() {
  const plain = await listening(createHttpServer((_, response) => void response.end('{}')))
  const cutting = createServer(socket => void socket.once('data', () => socket.destroy()).on('error', () => {}))
  return {
    closed: `http://127.0.0.1:${await freePort()}`,
    unknown: 'https://no-such-host.invalid',
    'self-signed': `https://127.0.0.1:${await tlsServer()}`,
    'no-tls': `https://127.0.0.1:${plain}`,
    'no-http': `http://127.0.0.1:${await tlsServer()}`,
    cutting: `http://127.0.0.1:${await listening(cutting)}`,
    silent: `http://127.0.0.1:${await silentPort()}`,
  }
}
