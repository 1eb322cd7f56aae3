// Addresses to listen at, as people write them.
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
