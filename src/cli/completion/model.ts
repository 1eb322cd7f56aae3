// What there is to complete, read off the program itself: its commands, their flags, and what each flag takes.
import type { Argument, Command, Option } from 'commander'

/** `ids` are asked for when they are needed: a callback into the program answers. */
export type Value =
  | { kind: 'none' }
  | { kind: 'text' }
  | { kind: 'file' }
  | { kind: 'folder' }
  | { kind: 'choices'; words: readonly string[] }
  | { kind: 'ids'; of: IdKind }

export const ID_KINDS = ['workspace', 'agent'] as const
export type IdKind = (typeof ID_KINDS)[number]

export interface Flag {
  /** As typed: `-w`, `--workspace`. */
  names: string[]
  about: string
  value: Value
}

export interface Completable {
  name: string
  about: string
  flags: Flag[]
  /** Words that its argument may be; none where anything may be. */
  words: readonly string[]
}

export interface ProgramModel {
  name: string
  version: string
  flags: Flag[]
  commands: Completable[]
}

const NONE: readonly string[] = []

/** Words that a value is one of, as the option declares them or its reader knows them. */
function wordsOf({ argChoices, parseArg }: Pick<Option | Argument, 'argChoices' | 'parseArg'>): readonly string[] {
  return argChoices ?? (parseArg as { words?: readonly string[] } | undefined)?.words ?? NONE
}

function valueTaken(option: Option): Value {
  if (!option.required && !option.optional) return { kind: 'none' }
  const words = wordsOf(option)
  if (words.length > 0) return { kind: 'choices', words }
  const of = ID_KINDS.find(kind => option.long === `--${kind}`)
  if (of) return { kind: 'ids', of }
  // `<file>`, or `<age or file>`.
  const [, name] = /\b(file|folder)[>\]]/.exec(option.flags) ?? []
  return name === 'file' || name === 'folder' ? { kind: name } : { kind: 'text' }
}

const flagOf = (option: Option): Flag => ({
  names: [option.short, option.long].filter(name => name !== undefined),
  about: option.description,
  value: valueTaken(option),
})

function flagsOf(command: Command): Flag[] {
  const help = command.createHelp()
  // Of two flags of one name the command's own is meant.
  const own = help.visibleOptions(command).map(flagOf)
  const taken = new Set(own.flatMap(({ names }) => names))
  const above = help.visibleGlobalOptions(command).map(flagOf)
  return [...own, ...above.filter(({ names }) => !names.some(name => taken.has(name)))]
}

/** Subcommands are words of their command, and their flags are its own. */
function commandOf(command: Command): Completable {
  const below = command.createHelp().visibleCommands(command)
  const flags = [command, ...below].flatMap(flagsOf)
  return {
    name: command.name(),
    about: command.description(),
    flags: [...new Map(flags.map(flag => [flag.names.join(), flag])).values()],
    words: [...below.map(sub => sub.name()), ...command.registeredArguments.flatMap(wordsOf)],
  }
}

/** The program as a completion script knows it. */
export const modelOf = (program: Command): ProgramModel => ({
  name: program.name(),
  version: program.version() ?? '',
  flags: flagsOf(program),
  commands: program.createHelp().visibleCommands(program).map(commandOf),
})
