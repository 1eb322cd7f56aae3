// Completion for fish.
import type { Flag, ProgramModel, Value } from './model.ts'
import { fishWord } from './quoting.ts'

function action(value: Value): string[] {
  if (value.kind === 'none') return []
  if (value.kind === 'file') return ['-r -F']
  if (value.kind === 'folder') return ['-x', `-a ${fishWord('(__fish_complete_directories)')}`]
  if (value.kind === 'choices') return ['-x', `-a ${fishWord(value.words.join(' '))}`]
  if (value.kind === 'ids') return ['-x', `-a ${fishWord(`(__convohouse_ids ${value.of})`)}`]
  return ['-x']
}

function flagLine(name: string, condition: string, { names, about, value }: Flag): string {
  const spelled = names.map(flag => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  return [
    'complete',
    `-c ${name}`,
    `-n ${fishWord(condition)}`,
    ...spelled,
    ...action(value),
    `-d ${fishWord(about)}`,
  ].join(' ')
}

/** A script that lies in fish's folder of completions. */
export function fishScript({ name, version, flags, commands }: ProgramModel): string {
  const none = `not __fish_seen_subcommand_from ${commands.map(command => command.name).join(' ')}`
  const lines = commands.flatMap(command => {
    const chosen = `__fish_seen_subcommand_from ${command.name}`
    const offered = `complete -c ${name} -n ${fishWord(none)} -a ${command.name} -d ${fishWord(command.about)}`
    const words =
      command.words.length > 0
        ? [`complete -c ${name} -n ${fishWord(chosen)} -a ${fishWord(command.words.join(' '))}`]
        : []
    return [offered, ...words, ...command.flags.map(flag => flagLine(name, chosen, flag))]
  })
  return `# fish completion of ${name} ${version}, made by \`${name} completion fish\`.

function __convohouse_ids
  set -l words (commandline -opc)
  $words[1] completion --values $argv[1] -- $words[2..-1] 2>/dev/null
end

complete -c ${name} -f
${[...flags.map(flag => flagLine(name, none, flag)), ...lines].join('\n')}
`
}
