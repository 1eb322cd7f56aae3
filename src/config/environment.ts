// The variables of convohouse, as a shell, a container or a service manager sets them: some add a line break, and some
// replace no `~` and no `$HOME`. Either would create another data folder, into which a sync exports everything again.
import { ConvohouseError } from '../core/errors.ts'
import type { Environment } from './kept-secret.ts'
import { CONTROL_INSIDE, FOR_SHELL, hasControl, isForShell } from './values.ts'

const PATHS = /^CONVOHOUSE_(?:HOME|CONFIG|CHECKS|MODELS|EXTENSIONS|\w+_FILE)$/

function cleaned(name: string, value: string): string {
  const text = value.trim()
  const problem = hasControl(text) ? CONTROL_INSIDE : PATHS.test(name) && isForShell(text) ? FOR_SHELL : null
  if (problem === null) return text
  const hint =
    'Set it again. Shells replace ~ and $HOME only outside of quotes, and files of variables need the whole path.'
  throw new ConvohouseError('CONFIG_INVALID', { what: `The variable ${name} ${problem}.`, hint })
}

/** Returns the environment with trimmed variables of convohouse. @throws CONFIG_INVALID, which quotes no value */
export function cleanEnvironment(env: Environment): Environment {
  const own = Object.entries(env).filter(([name, value]) => name.startsWith('CONVOHOUSE_') && value !== undefined)
  return { ...env, ...Object.fromEntries(own.map(([name, value]) => [name, cleaned(name, value!)])) }
}
