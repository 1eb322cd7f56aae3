// Text and hint for each way in which a connection to the API fails, by error code (Node's, OpenSSL's, undici's).

interface ConnectionFailure {
  /** Completes the sentence after the host name: `refused the connection`. */
  words: string
  hint: string
}

const TRY_LATER = 'Try again later; landed pages are kept.'

/** The message names the code, which says what is wrong with the certificate. */
const certificate: ConnectionFailure = {
  words: 'presented a TLS certificate that this machine does not accept; nothing was sent',
  hint: "Check that `apiUrl` names the vendor and not a proxy, and this machine's clock. If your network uses a TLS-inspecting proxy, save its CA certificate to a file and set NODE_EXTRA_CA_CERTS to the path of that file.",
}
const noTls: ConnectionFailure = {
  words: 'does not speak TLS; nothing was sent',
  hint: 'Check `apiUrl`: if the server uses plain HTTP, the address must begin with http://; otherwise the port is wrong.',
}
const cutOff: ConnectionFailure = { words: 'closed the connection before it answered', hint: TRY_LATER }
const noHttp: ConnectionFailure = {
  words: 'answers, but does not speak HTTP',
  hint: 'Check `apiUrl`: if the server uses TLS, the address must begin with https://; otherwise the port is wrong.',
}
const unknownHost: ConnectionFailure = {
  words: 'cannot be resolved: there is no such host name',
  hint: "Check the spelling of `apiUrl`, and this machine's DNS and network; nothing was sent.",
}
const noRoute: ConnectionFailure = {
  words: 'cannot be reached from here: there is no route to it',
  hint: "Check `apiUrl`, and this machine's network, VPN and firewall; nothing was sent.",
}

const TROUBLES: Record<string, ConnectionFailure> = {
  ECONNREFUSED: {
    words: 'refused the connection',
    hint: 'Check host and port of `apiUrl`: nothing listens there, or a firewall blocks it; nothing was sent.',
  },
  ENOTFOUND: unknownHost,
  EAI_AGAIN: {
    words: 'cannot be resolved at the moment: DNS does not answer',
    hint: "Check this machine's DNS and network, and the spelling of `apiUrl`; nothing was sent.",
  },
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  EPROTO: noTls,
  ECONNRESET: cutOff,
  EPIPE: cutOff,
  UND_ERR_SOCKET: cutOff,
}

/** `reason`: error code, such as ECONNREFUSED. */
export function describeConnectionFailure(reason: string): ConnectionFailure {
  const known = TROUBLES[reason]
  if (known) return known
  if (/CERT|ISSUER|SIGNATURE/.test(reason)) return certificate
  if (reason.startsWith('ERR_SSL_') || reason.startsWith('ERR_TLS_')) return noTls
  if (reason.startsWith('HPE_')) return noHttp
  return { words: 'could not be reached', hint: 'If `apiUrl` has never worked, check it; otherwise try again later.' }
}
