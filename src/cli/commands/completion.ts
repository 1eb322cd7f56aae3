import { Argument, Command, Option } from 'commander'
import { ID_KINDS, type IdKind } from '../completion/model.ts'
import { SHELLS } from '../completion/shells.ts'
import { oneOf } from '../flags/values.ts'

/** The shell; behind `--values` the words of a line, which may be anything. */
function shellArgument(): Argument {
  const argument = new Argument('[shell...]', 'the shell to complete in')
  argument.argChoices = [...SHELLS]
  return argument
}

export const completionCommand = (): Command =>
  new Command('completion')
    .description('print a script that completes commands, flags and ids in bash, zsh or fish')
    .usage('<bash|zsh|fish>')
    .addArgument(shellArgument())
    .addOption(
      new Option('--values <kind>', 'ids, for such a script').argParser(oneOf('--values', ID_KINDS)).hideHelp(),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse completion bash               the script; to have it in every shell:

  bash   add to ~/.bashrc:                   eval "$(convohouse completion bash)"
  zsh    add to ~/.zshrc, behind compinit:   eval "$(convohouse completion zsh)"
  fish   once, and after each update:        convohouse completion fish > ~/.config/fish/completions/convohouse.fish

Ids of workspaces are those that are configured, ids of agents those with landed pages; nobody is asked for them.`,
    )
    .action(async (words: string[], flags: { values?: IdKind }, command: Command) => {
      const { runCompletion } = await import('../completion/run-completion.ts')
      await runCompletion(command.parent ?? command, words, flags.values)
    })
