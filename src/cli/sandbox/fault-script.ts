// The files that `--fault-script` and `--event-fault-script` name: JSON, a list of rules.
import { readFile } from 'node:fs/promises'
import { invalidFlag } from '../flags/values.ts'

/** What is in the rules is checked where the faults are set. @throws FLAG_INVALID */
export async function readFaultScript<R>(flag: string, path: string): Promise<R[]> {
  const text = await readFile(path, 'utf8').catch(() => {
    throw invalidFlag(`${flag}: ${path} cannot be read.`, 'Give the path of a JSON file.')
  })
  const rules = parse(text)
  if (Array.isArray(rules)) return rules as R[]
  throw invalidFlag(`${flag}: ${path} is no JSON list.`, `Give rules such as [{"at": 3, "fault": …}].`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
