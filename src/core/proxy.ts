// The HTTP proxy between this machine and the vendor, as the usual environment variables name it.

import { ConvohouseError } from './errors.ts'

export interface HttpProxy {
  /** Scheme, host and port. */
  origin: string
  /** The variable that names it. */
  variable: string
  /** `user:password`; null for neither. */
  credentials: string | null
}

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the first variable that is set, lower case first, as for curl and undici. */
const nameIn = (env: Environment, ...names: string[]): string | undefined =>
  names.flatMap(name => [name.toLowerCase(), name]).find(name => env[name] !== undefined)

const LOOPBACK = /^127(?:\.\d+){3}$|^0\.0\.0\.0$|^\[::1?\]$|^\[::ffff:7f..:[^:]+\]$|(?:^|\.)localhost\.?$/

/**
 * Returns the proxy for requests to an origin; null for none. Loopback hosts never have one.
 * @throws ConvohouseError CONFIG_INVALID, without user and password, if the variable contains no address of an HTTP proxy
 */
export function proxyFor(origin: string, env: Environment): HttpProxy | null {
  const url = new URL(origin)
  const name = nameIn(env, ...(url.protocol === 'https:' ? ['HTTPS_PROXY', 'HTTP_PROXY'] : ['HTTP_PROXY']))
  const given = name && env[name]!.trim()
  if (!given || LOOPBACK.test(url.hostname) || isExcepted(url, env)) return null
  const address = given.includes('://') ? given : `http://${given}`
  const proxy = URL.canParse(address) ? new URL(address) : null
  const credentials = proxy && credentialsOf(proxy)
  if (proxy !== null && credentials !== undefined && /^https?:$/.test(proxy.protocol))
    return { origin: proxy.origin, variable: name, credentials }
  throw new ConvohouseError('CONFIG_INVALID', {
    what: `The variable ${name} does not contain the address of an HTTP proxy.`,
    hint: "Set it to an address such as http://user:password@proxy.example.com:3128 (special characters of the password as %XX), or list the vendor's host in NO_PROXY.",
  })
}

/** Undefined if user or password contain an invalid escape. */
function credentialsOf({ username, password }: URL): string | null | undefined {
  try {
    return username + password === '' ? null : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  } catch {
    return undefined
  }
}

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1')

/** True if NO_PROXY lists the host: its name, a parent domain or its address, with or without a port; `*` lists all. */
function isExcepted({ hostname, port, protocol }: URL, env: Environment): boolean {
  const usedPort = port || (protocol === 'https:' ? '443' : '80')
  const entries = (env[nameIn(env, 'NO_PROXY') ?? ''] ?? '').toLowerCase().split(/[\s,]+/)
  return entries.filter(Boolean).some(entry => {
    const [, host = entry, ofPort = usedPort] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? []
    const listed = withoutBrackets(host.replace(/^\*?\./, ''))
    return entry === '*' || (ofPort === usedPort && `.${withoutBrackets(hostname)}`.endsWith(`.${listed}`))
  })
}
