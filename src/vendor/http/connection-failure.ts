// Text and hint for each way in which a connection to the API fails, by error code (Node's, OpenSSL's, undici's).

export interface ConnectionFailure {
  /** Completes the sentence after the host name: `refused the connection`. */
  words: string
  hint: string
}

const TRY_LATER = 'Try again later; landed pages are kept.'

/** Behind a proxy that inspects TLS, its CA has to be trusted. */
const KNOW_AUTHORITY =
  'check that `apiUrl` names the vendor and not a proxy. Where a proxy that inspects TLS is meant to be there, put its CA certificate into a file and name that in NODE_EXTRA_CA_CERTS.'

const certificate = (words: string, hint: string): ConnectionFailure => ({
  words: `shows a TLS certificate that ${words}, so nothing was sent`,
  hint: `${hint[0]!.toUpperCase()}${hint.slice(1)}`,
})

const selfSigned = certificate('is self-signed', KNOW_AUTHORITY)
const unknownAuthority = certificate('no authority that this machine trusts has signed', KNOW_AUTHORITY)
const noTls: ConnectionFailure = {
  words: 'does not answer in TLS, so nothing was sent',
  hint: 'Check `apiUrl`: if the server uses plain HTTP, the address has to begin with http://; otherwise the port is wrong.',
}
const cutOff: ConnectionFailure = { words: 'cut the connection off before an answer came', hint: TRY_LATER }
const noHttp: ConnectionFailure = {
  words: 'answers, but not in HTTP',
  hint: 'Check `apiUrl`: if the server uses TLS, the address has to begin with https://; otherwise the port is wrong.',
}
const unknownHost: ConnectionFailure = {
  words: 'is no host name that can be resolved',
  hint: "Check the spelling of `apiUrl`, and this machine's DNS and network; nothing was sent.",
}
const noRoute: ConnectionFailure = {
  words: 'cannot be reached from here: there is no route to it',
  hint: "Check `apiUrl`, and this machine's network, VPN and firewall; nothing was sent.",
}

const TROUBLES: Record<string, ConnectionFailure> = {
  ECONNREFUSED: {
    words: 'refused the connection',
    hint: 'Check host and port of `apiUrl`: nothing listens there, or a firewall is between; nothing was sent.',
  },
  ENOTFOUND: unknownHost,
  EAI_AGAIN: {
    words: 'cannot be resolved at the moment: DNS does not answer',
    hint: "Check this machine's DNS and network, and the spelling of `apiUrl`; nothing was sent.",
  },
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  DEPTH_ZERO_SELF_SIGNED_CERT: selfSigned,
  SELF_SIGNED_CERT_IN_CHAIN: certificate('a self-signed authority has signed', KNOW_AUTHORITY),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  CERT_UNTRUSTED: unknownAuthority,
  CERT_HAS_EXPIRED: certificate(
    'has expired',
    "check this machine's clock; if it is right, the operator of the server at `apiUrl` has to renew the certificate.",
  ),
  CERT_NOT_YET_VALID: certificate('is not valid yet', "check this machine's clock."),
  CERT_REVOKED: certificate('was revoked', 'ask the operator of the server at `apiUrl`.'),
  ERR_TLS_CERT_ALTNAME_INVALID: certificate(
    'is for another host',
    'check the host name in `apiUrl`: it has to be one that the certificate names.',
  ),
  EPROTO: noTls,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  ECONNRESET: cutOff,
  EPIPE: cutOff,
  UND_ERR_SOCKET: cutOff,
  HPE_INVALID_CONSTANT: noHttp,
}

/** `reason`: error code, such as ECONNREFUSED. */
export function describeConnectionFailure(reason: string): ConnectionFailure {
  const known = TROUBLES[reason]
  if (known) return known
  if (reason.startsWith('ERR_SSL_') || reason.startsWith('ERR_TLS_'))
    return { ...noTls, words: 'could not agree on TLS' }
  if (reason.startsWith('HPE_')) return noHttp
  return { words: 'could not be reached', hint: `Check \`apiUrl\` where it was never reached; else try again later.` }
}
