// `--metrics`: where a process serves its metrics.
import { type ListenAddress, parseAddress } from '../../config/address.ts'
import { invalidFlag } from './values.ts'

/** @throws FLAG_INVALID */
export function metricsAddress(text: string): ListenAddress {
  const address = parseAddress(text)
  if (address) return address
  throw invalidFlag(`--metrics cannot be ${JSON.stringify(text)}.`, 'Give a host and a port, such as 127.0.0.1:9464.')
}
