// `convohouse completion`: a script for the shell, derived from the program itself; or the ids that such a script asks for.
import type { Command } from 'commander'
import { invalidFlag } from '../flags/values.ts'
import { print } from '../terminal/print.ts'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { idsOf } from './ids.ts'
import { type IdKind, modelOf, type ProgramModel } from './model.ts'
import type { Shell } from './shells.ts'
import { zshScript } from './zsh.ts'

const SCRIPTS: Record<Shell, (model: ProgramModel) => string> = { bash: bashScript, zsh: zshScript, fish: fishScript }

const isShell = (word: string | undefined): word is Shell => word !== undefined && Object.hasOwn(SCRIPTS, word)

/** @throws FLAG_INVALID for a shell that is none of ours */
export async function runCompletion(
  program: Command,
  words: readonly string[],
  values: IdKind | undefined,
): Promise<void> {
  // An id with a line break in it cannot be typed on a line.
  if (values) return print(...(await idsOf(values, words)).filter(id => !/\p{Cc}/u.test(id)))
  const [shell, ...more] = words
  if (!isShell(shell) || more.length > 0)
    throw invalidFlag(
      `completion cannot be for ${JSON.stringify(words.join(' '))}.`,
      `Give one of ${Object.keys(SCRIPTS).join(', ')}.`,
    )
  process.stdout.write(SCRIPTS[shell](modelOf(program)))
}
