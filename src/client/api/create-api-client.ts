// Makes the requests of the whole API for other programs.
import { z } from 'zod'
import { readCsvAnswer, readJsonAnswer } from '../answers.ts'
import { createCaller, JSON_TYPE, type VendorClientOptions } from '../caller.ts'
import { parseOrFault } from '../envelopes.ts'
import type { RequestContext } from '../faults.ts'
import type { ApiClient, CallOptions } from './api-client.ts'
import { type Effect, OPERATIONS, type Operation } from './operations.ts'
import { type Arguments, operationTarget } from './target.ts'

/** @throws ConvohouseError CONFIG_INVALID or TOKEN_MISSING for an address or a token that cannot be used */
export function createApiClient(options: VendorClientOptions): ApiClient {
  const caller = createCaller(options)
  const methodOf =
    (operation: Operation) =>
    async (given: Arguments = {}, { signal }: CallOptions = {}): Promise<unknown> => {
      const target = operationTarget(caller.address, operation, given)
      const control = { target, hints: HINTS[operation.effect], ...(signal && { signal }) }
      // The bytes of an export have been billed, so its errors keep them.
      const keepsBody = operation.effect === 'bills'
      if (given.format === 'csv')
        return (await caller.run({ ...control, accept: 'text/csv', keepsBody, read: readCsvAnswer })).body.toString()
      const check = (parsed: unknown) => checkEnvelope(operation, parsed)
      return caller.run({
        ...control,
        accept: JSON_TYPE,
        keepsBody,
        read: (sent, asked) => readJsonAnswer(sent, asked, check),
      })
    }
  const methods = Object.fromEntries(OPERATIONS.map(operation => [operation.name, methodOf(operation)]))
  // The tests call each method; the types are those of the API document.
  return { ...methods, close: caller.close } as unknown as ApiClient
}

const TYPES = { list: z.array(z.unknown()), record: z.looseObject({}), count: z.number() }

/** Throws unless the answer has the documented keys; of several, one is enough. */
function checkEnvelope({ name, envelope }: Operation, parsed: unknown): void {
  const keys = Object.entries(envelope)
  const isAlone = keys.length === 1
  const fields = keys.map(([key, type]) => [key, isAlone ? TYPES[type] : TYPES[type].nullish()])
  const schema = z.looseObject({ success: z.literal(true).nullish(), ...Object.fromEntries(fields) })
  const isAny = (answer: Record<string, unknown>) => keys.length === 0 || keys.some(([key]) => answer[key] != null)
  parseOrFault(schema.refine(isAny, `it has neither ${Object.keys(envelope).join(' nor ')}`), parsed, name)
}

type Hints = NonNullable<RequestContext['hints']>

const READ_HINTS: Hints = {
  API_FORBIDDEN: 'Check that the token is of this workspace, and that the workspace may do this.',
  API_NOT_FOUND: 'Check the ids and the API address.',
  API_BAD_REQUEST: 'Correct what the message names.',
  API_UNAVAILABLE: 'Try again later.',
  API_TIMEOUT: 'Try again later; a longer timeout gives slow answers more time.',
}

const UNCERTAIN = 'The vendor may have carried out the request: look at the result before you repeat it.'

const WRITE_HINTS: Hints = {
  ...READ_HINTS,
  API_UNAVAILABLE: UNCERTAIN,
  API_TIMEOUT: UNCERTAIN,
  API_NOT_JSON: UNCERTAIN,
  API_PROTOCOL: `Check the API address. ${UNCERTAIN}`,
  INTERRUPTED: UNCERTAIN,
}

const BILLED = 'Conversations that were not received may have been billed.'

const HINTS: Readonly<Record<Effect, Hints>> = {
  reads: READ_HINTS,
  bills: {
    ...READ_HINTS,
    API_FORBIDDEN: 'The export needs a workspace that has paid at least once: check that, and the token.',
    API_UNAVAILABLE: `Try again later. ${BILLED}`,
    API_TIMEOUT: `Try again later, with a longer timeout or a smaller limit. ${BILLED}`,
  },
  writes: WRITE_HINTS,
  deletes: WRITE_HINTS,
}
