// The variables of convohouse, as a shell, a container or a service manager sets them: some add a line break, and some
// replace no `~` and no `$HOME`. Either would create another data folder, into which a sync exports everything again.
import { ConvohouseError } from '../core/errors.ts'
import type { Environment } from './kept-secret.ts'
import { FOR_SHELL, hasControl, isForShell } from './values.ts'

const OWN = /^CONVOHOUSE_/
const PATHS = /^CONVOHOUSE_(?:HOME|CONFIG|CHECKS|MODELS|EXTENSIONS|\w+_FILE)$/

const invalid = (name: string, problem: string, hint: string): ConvohouseError =>
  new ConvohouseError('CONFIG_INVALID', { what: `The variable ${name} ${problem}.`, hint })

function cleaned(name: string, value: string): string {
  const text = value.trim()
  if (hasControl(text))
    throw invalid(name, 'contains a line break or another control character', 'Set it again without that character.')
  if (PATHS.test(name) && isForShell(text))
    throw invalid(name, FOR_SHELL, 'Shells replace it only outside of quotes; files of variables need the whole path.')
  return text
}

/** Returns the environment with trimmed variables of convohouse. @throws CONFIG_INVALID, which quotes no value */
export const cleanEnvironment = (env: Environment): Environment => ({
  ...env,
  ...Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      OWN.test(name) && value !== undefined ? [[name, cleaned(name, value)]] : [],
    ),
  ),
})
