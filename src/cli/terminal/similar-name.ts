// The name that a mistyped one resembles, by the rule that commander has for commands.
import { Command } from 'commander'

/** Returns the similar name, or `one of a, b`; undefined if there is none. */
export function similarName(word: string, names: readonly string[]): string | undefined {
  const program = new Command()
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
  for (const name of new Set(names)) program.command(name)
  try {
    program.parse([word], { from: 'user' })
    return undefined
  } catch (error) {
    return /\(Did you mean (.+?)\?\)/.exec((error as Error).message)?.[1]
  }
}
