// Text and hint for each way in which a connection to the API fails, by error code (Node's, OpenSSL's, undici's).

interface ConnectionFailure {
  /** Completes the sentence after the host name: `refused the connection`. */
  words: string
  hint: string
}

const TRY_LATER = 'Try again later; landed pages are kept.'

/** Behind a proxy that inspects TLS, this machine must trust the proxy's CA. */
const KNOW_AUTHORITY =
  'Check that `apiUrl` names the vendor and not a proxy. If your network uses a TLS-inspecting proxy, save its CA certificate to a file and set NODE_EXTRA_CA_CERTS to the path of that file.'

const certificate = (words: string, hint: string): ConnectionFailure => ({
  words: `presented a TLS certificate that ${words}; nothing was sent`,
  hint,
})

const selfSigned = certificate('is self-signed', KNOW_AUTHORITY)
const unknownAuthority = certificate('is not signed by an authority that this machine trusts', KNOW_AUTHORITY)
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
  DEPTH_ZERO_SELF_SIGNED_CERT: selfSigned,
  SELF_SIGNED_CERT_IN_CHAIN: certificate('is signed by a self-signed authority', KNOW_AUTHORITY),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  CERT_UNTRUSTED: unknownAuthority,
  CERT_HAS_EXPIRED: certificate(
    'has expired',
    "Check this machine's clock; if it is right, the operator of the server at `apiUrl` must renew the certificate.",
  ),
  CERT_NOT_YET_VALID: certificate('is not valid yet', "Check this machine's clock."),
  CERT_REVOKED: certificate('was revoked', 'Ask the operator of the server at `apiUrl`.'),
  ERR_TLS_CERT_ALTNAME_INVALID: certificate(
    'is for another host',
    'Check the host name in `apiUrl`: it must be one that the certificate names.',
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
    return { ...noTls, words: 'could not complete the TLS handshake' }
  if (reason.startsWith('HPE_')) return noHttp
  return { words: 'could not be reached', hint: 'If `apiUrl` has never worked, check it; otherwise try again later.' }
}
