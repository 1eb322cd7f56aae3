// Completion for zsh.
import type { Completable, Flag, ProgramModel, Value } from './model.ts'
import { shellWord } from './quoting.ts'

/** Of `_arguments`: what is behind the flag's name. In its parts a colon parts, and a bracket ends the description. */
const escaped = (text: string): string => text.replace(/[\\:[\]]/g, character => `\\${character}`)

function action(value: Value): string {
  if (value.kind === 'choices') return `:value:(${value.words.map(word => escaped(word)).join(' ')})`
  // Behind a space a function is called with these arguments alone.
  if (value.kind === 'ids') return `:${value.of}: _convohouse_ids ${value.of}`
  if (value.kind === 'file') return ':file:_files'
  if (value.kind === 'folder') return ':folder:_files -/'
  return value.kind === 'text' ? ':value: ' : ''
}

/** One specification for each name; \`*\`: a flag may come again. */
const specifications = ({ names, about, value }: Flag): string[] =>
  names.map(name => {
    const takes = value.kind !== 'none' && name.startsWith('--') ? '=' : ''
    return shellWord(`*${name}${takes}[${escaped(about)}]${action(value)}`)
  })

const argumentsOf = (flags: readonly Flag[], more: readonly string[]): string =>
  ['_arguments -s', ...flags.flatMap(specifications), ...more].join(' \\\n        ')

function commandCase({ name, flags, words }: Completable): string {
  const positional = words.length > 0 ? [shellWord(`:value:(${words.join(' ')})`)] : []
  return `      ${name})\n        ${argumentsOf(flags, positional)} ;;`
}

/** A script that is a file of \`fpath\`, or is evaluated behind \`compinit\`. */
export function zshScript({ name, version, flags, commands }: ProgramModel): string {
  const described = commands.map(command => shellWord(`${escaped(command.name)}:${command.about}`))
  return `#compdef ${name}
# zsh completion of ${name} ${version}, made by \`${name} completion zsh\`.

_convohouse_ids() {
  local -a ids
  ids=("\${(@f)$("$_convohouse_program" completion --values "$1" -- "\${(@)_convohouse_words}" 2>/dev/null)}")
  compadd -- "\${(@)ids:#}"
}

_convohouse() {
  local curcontext="$curcontext" state line _convohouse_program="\${words[1]}"
  local -a _convohouse_words=("\${(@)words[2,CURRENT-1]}") commands
  typeset -A opt_args
  commands=(
    ${described.join('\n    ')}
  )
  ${argumentsOf(flags, ["'1: :->command'", "'*:: :->rest'"]).replace('-s', '-s -C')}
  case "$state" in
    command) _describe command commands ;;
    rest)
      case "\${words[1]}" in
${commands.map(commandCase).join('\n')}
      esac ;;
  esac
}

if [ "\${funcstack[1]}" = _convohouse ]; then
  _convohouse "$@"
else
  compdef _convohouse ${name}
fi
`
}
