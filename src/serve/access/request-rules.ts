// Which requests are answered at all: those to a known host (DNS rebinding), and not of other websites' pages.
import { isIP } from 'node:net'

type Headers = Readonly<Record<string, string | string[] | undefined>>

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1|::ffff:127(\.\d{1,3}){3})$/

export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

/** Headers that only a proxy adds: the client is then not on this machine, although its connection seems to be. */
const PROXY_HEADER = /^(forwarded|via|x-forwarded.*|(x-real|x-client|true-client|cf-connecting)-ip)$/

export const isForwarded = (headers: Headers): boolean => Object.keys(headers).some(name => PROXY_HEADER.test(name))

interface HostRules {
  /** The address that `serve` listens at. */
  listensAt: string
  /** Names under which it is reached, in lower case. */
  hosts: readonly string[]
}

const urlOf = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null)

const isKnown = (hostname: string, { listensAt, hosts }: HostRules): boolean =>
  isLoopback(hostname) ||
  hosts.includes(hostname) ||
  // An address in place of a name cannot be rebound.
  (isIP(listensAt) !== 0 && hostname.replace(/^\[|\]$/g, '') === listensAt) ||
  hostname === listensAt.toLowerCase()

/** A page of another website may link here, but neither read nor send anything. */
const isLink = (headers: Headers, method: string): boolean =>
  method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'

/** Returns why a request is refused, or null. */
export function refusalOf(headers: Headers, method: string, rules: HostRules): string | null {
  const { host = '', origin } = headers
  const asked = /^[^\s/?#@\\]+$/.test(String(host)) ? urlOf(`http://${host}`) : null
  if (!asked || !isKnown(asked.hostname, rules)) return 'The Host of the request is not a name of this server.'
  if (origin !== undefined) {
    const from = urlOf(String(origin))
    const isOwn = from !== null && (from.host === asked.host || rules.hosts.includes(from.hostname))
    if (!isOwn) return 'The request comes from a page of another website (Origin).'
  }
  const site = headers['sec-fetch-site'] ?? 'none'
  if (origin === undefined && !['same-origin', 'none'].includes(String(site)) && !isLink(headers, method))
    return 'The request comes from a page of another website (Sec-Fetch-Site).'
  return null
}
