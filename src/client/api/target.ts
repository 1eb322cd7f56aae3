// Turns an operation and its arguments into a request. Arguments that cannot be sent are refused before a request is made.
import { ConvohouseError } from '../../core/errors.ts'
import {
  type ApiAddress,
  compose,
  type Parameter as Encoded,
  parameter as encoded,
  isSegment,
  selection,
  type Target,
} from '../address.ts'
import { idsIn, type Operation, type Parameter } from './operations.ts'

/** Arguments of an operation by name: ids of the path, query parameters, and the body. */
export type Arguments = Readonly<Record<string, unknown>>

const invalid = (what: string, hint: string): ConvohouseError => new ConvohouseError('FLAG_INVALID', { what, hint })

const argumentsOf = (operation: Operation): string[] => [
  ...idsIn(operation),
  ...(operation.body === null ? [] : [operation.body]),
  ...Object.keys(operation.query),
]

/** @throws as `operationTarget` */
export const checkArguments = (operation: Operation, given: Arguments): void =>
  void operationTarget({ origin: '', prefix: '' }, operation, given)

/** @throws ConvohouseError FLAG_INVALID for an argument that is missing, unknown, of another type or out of range */
export function operationTarget(address: ApiAddress, operation: Operation, given: Arguments): Target {
  const { name, method, body } = operation
  const known = argumentsOf(operation)
  const unknown = Object.keys(given).find(argument => !known.includes(argument))
  if (unknown !== undefined)
    throw invalid(`${name} has no argument ${unknown}`, `Its arguments are: ${known.join(', ') || 'none'}.`)
  const path = operation.path.replace(/\{(\w+)\}/g, (_, id: string) => encodedId(name, id, given[id]))
  const parameters = Object.entries(operation.query).map(([key, declared]) =>
    encodedParameter(key, declared, given[key]),
  )
  const target = compose(method, address.prefix + path, parameters)
  const agentId = given.agentId
  return {
    ...target,
    ...(body !== null && { body: JSON.stringify({ [body]: requireObject(name, body, given[body]) }) }),
    ...(typeof agentId === 'string' && { agentId }),
  }
}

function encodedId(operation: string, name: string, value: unknown): string {
  if (typeof value === 'string' && isSegment(value)) return encodeURIComponent(value)
  if (value === undefined) throw invalid(`${operation} needs ${name}`, `Give ${name}, the id as the vendor shows it.`)
  throw invalid(`${name} cannot be ${JSON.stringify(value)}`, `Give ${name}, the id as the vendor shows it.`)
}

function requireObject(operation: string, name: string, value: unknown): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw invalid(`${operation} needs ${name}, an object`, `Give the fields of ${name} that docs/api-client.md lists.`)
}

function encodedParameter(name: string, declared: Parameter, value: unknown): Encoded | undefined {
  if (value === undefined) return undefined
  const refused = (hint: string) => invalid(`${name} cannot be ${JSON.stringify(value)}`, hint)
  switch (declared.type) {
    case 'integer': {
      const { min, max = Number.MAX_SAFE_INTEGER } = declared
      if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max)
        return encoded(name, value as number)
      const range = declared.max === undefined ? `of ${min} or more` : `from ${min} to ${max}`
      throw refused(`Give a whole number ${range}.`)
    }
    case 'boolean':
      if (typeof value !== 'boolean') throw refused('Give true or false.')
      return encoded(name, String(value))
    case 'choice':
      if (!declared.values.includes(value as string)) throw refused(`Give one of ${declared.values.join(', ')}.`)
      return encoded(name, value as string)
    case 'texts':
      return encoded(name, requireTexts(name, value).join(','))
    case 'ids': {
      const ids = requireTexts(name, value)
      if (ids.length <= declared.most) return selection(ids)
      throw invalid(`${name} has ${ids.length} ids`, `Give at most ${declared.most}; make several requests for more.`)
    }
    default:
      if (typeof value !== 'string' || value === '') throw refused('Give a text that is not empty.')
      return encoded(name, value, declared.type === 'cursor' ? '…' : undefined)
  }
}

function requireTexts(name: string, value: unknown): string[] {
  if (Array.isArray(value) && value.every(one => typeof one === 'string')) return value
  throw invalid(`${name} cannot be ${JSON.stringify(value)}`, 'Give a list of texts.')
}
