// Addresses to listen at: as people write them, and a server that listens there.
import type { AddressInfo, Server } from 'node:net'
import { ConvohouseError } from '../core/errors.ts'

export interface ListenAddress {
  host: string
  port: number
}

/** Reads `127.0.0.1:9464` or `[::1]:9464`; port 0 takes a free one. Undefined where it is none. */
export function parseAddress(text: string): ListenAddress | undefined {
  const [, six, four, digits] = /^(?:\[([\da-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/i.exec(text) ?? []
  const [host, port] = [six ?? four, Number(digits)]
  return host !== undefined && port <= 65_535 ? { host, port } : undefined
}

/** `http://127.0.0.1:9464`, without a slash at its end. */
export const urlOf = ({ host, port }: ListenAddress): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** What is said where a server cannot listen: `taken` and `refused` each with what to do. */
export interface ListenTexts {
  /** Ends `Another program listens on HOST:PORT already: … there.` */
  taken: string
  takenHint: string
  /** Begins `… HOST:PORT: CODE.` */
  refused: string
  refusedHint: string
}

/** Listens, and returns where. @throws ADDRESS_IN_USE; CONFIG_INVALID where this machine has no such address */
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
