// The file that `--fault-script` names: JSON, a list of rules.
import { readFile } from 'node:fs/promises'
import type { ScriptRule } from '../../sandbox/faults/fault-settings.ts'
import { invalidFlag } from '../flags/values.ts'

/** What is in the rules is checked where the faults are set. @throws FLAG_INVALID */
export async function readFaultScript(path: string): Promise<ScriptRule[]> {
  const text = await readFile(path, 'utf8').catch(() => {
    throw invalidFlag(`--fault-script: ${path} cannot be read.`, 'Give the path of a JSON file.')
  })
  const rules = parse(text)
  if (Array.isArray(rules)) return rules as ScriptRule[]
  throw invalidFlag(`--fault-script: ${path} is no JSON list.`, 'Give rules such as [{"at": 3, "fault": "503"}].')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
