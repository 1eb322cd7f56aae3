// Addresses to listen on: parses and formats them, and listens, with errors that say what to do.
import type { AddressInfo, Server } from 'node:net'
import { ConvohouseError } from '../core/errors.ts'

export interface ListenAddress {
  host: string
  port: number
}

/** Parses `127.0.0.1:9464` or `[::1]:9464`; port 0 means a free one. Undefined if it is not an address. */
export function parseAddress(text: string): ListenAddress | undefined {
  const [, six, four, digits] = /^(?:\[([\da-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/i.exec(text) ?? []
  const [host, port] = [six ?? four, Number(digits)]
  return host !== undefined && port <= 65_535 ? { host, port } : undefined
}

/** Returns `http://127.0.0.1:9464`, without a trailing slash. */
export const urlOf = ({ host, port }: ListenAddress): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** Parts of the messages for an address that is taken or refused, each with a hint. */
interface ListenTexts {
  /** Completes the message `Another program listens on HOST:PORT already: … there.` */
  taken: string
  takenHint: string
  /** Begins the message `… HOST:PORT: CODE.` */
  refused: string
  refusedHint: string
}

/** Listens and returns the actual address. @throws ADDRESS_IN_USE; CONFIG_INVALID if this machine has no such address */
export async function listenAt(
  server: Server,
  { host, port }: ListenAddress,
  texts: ListenTexts,
): Promise<ListenAddress> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const isTaken = cause.code === 'EADDRINUSE'
      const what = isTaken
        ? `Another program listens on ${host}:${port} already: ${texts.taken} there.`
        : `${texts.refused} ${host}:${port}: ${cause.code}.`
      const hint = isTaken ? texts.takenHint : texts.refusedHint
      const facts = { host, port }
      reject(new ConvohouseError(isTaken ? 'ADDRESS_IN_USE' : 'CONFIG_INVALID', { what, hint, cause, facts }))
    })
    server.listen(port, host, resolve)
  })
  return { host, port: (server.address() as AddressInfo).port }
}
