import { ConvohouseError, type ErrorCode, type ErrorParts } from '../core/errors.ts'
import type { Exchange } from './exchange.ts'

/** An error about a request to the vendor. */
export class VendorError extends ConvohouseError {
  readonly #exchange: Exchange | undefined

  constructor(code: ErrorCode, parts: ErrorParts & { exchange?: Exchange | undefined }) {
    super(code, parts)
    this.#exchange = parts.exchange
  }

  /** The response of an export: its bytes cost quota and may be kept. A getter, so that no logger prints it. */
  get exchange(): Exchange | undefined {
    return this.#exchange
  }
}
