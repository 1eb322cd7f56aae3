// The id of a record that was requested by it, where the answer lacks it.
import { idOf } from '../inspection/ids.ts'
import { isObject } from '../inspection/inspect.ts'

/** Completes an answer whose record is under `key`. The requested id is the last one in the path. */
export const withRequestedId =
  (key: string, idKey: string) =>
  (answer: unknown, ids: readonly string[]): unknown => {
    const record = isObject(answer) ? answer[key] : undefined
    if (!isObject(record) || idOf(record[idKey]) !== null) return answer
    return { ...(answer as object), [key]: { ...record, [idKey]: ids.at(-1) } }
  }
