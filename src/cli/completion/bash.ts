// Completion for bash, 3.2 (which macOS has) or later.
import type { Completable, Flag, ProgramModel, Value } from './model.ts'
import { shellWord } from './quoting.ts'

/** The line of the script that offers values of a flag. */
function offering(value: Value): string {
  if (value.kind === 'choices') return `_convohouse_offer ${value.words.map(shellWord).join(' ')}`
  if (value.kind === 'ids') return `_convohouse_ids ${value.of}`
  if (value.kind === 'file') return '_convohouse_paths -f'
  if (value.kind === 'folder') return '_convohouse_paths -d'
  return ':'
}

const valueCases = (command: string, flags: readonly Flag[]): string[] =>
  flags
    .filter(({ value }) => value.kind !== 'none')
    .map(({ names, value }) => {
      const patterns = names.map(name => `"${command} ${name}"`).join('|')
      return `    ${patterns}) ${offering(value)}; return ;;`
    })

const namesOf = (flags: readonly Flag[]): string =>
  flags
    .flatMap(({ names }) => names)
    .map(shellWord)
    .join(' ')

const wordCase = ({ name, flags, words }: Completable): string =>
  `    ${name}) if [[ "$current" == -* ]]; then _convohouse_offer ${namesOf(flags)}; else _convohouse_offer ${words.map(shellWord).join(' ')}; fi ;;`

/**
 * A script to be sourced. What is offered is compared as text and never expanded: an id that looks like a command
 * substitution stays an id.
 */
export function bashScript({ name, version, flags, commands }: ProgramModel): string {
  return `# bash completion of ${name} ${version}, made by \`${name} completion bash\`.

# Offers the words that begin as the current one does; each is quoted as the shell needs it.
_convohouse_offer() {
  local word
  for word in "$@"; do
    [[ "$word" == "$current"* ]] && COMPREPLY+=("$(printf '%q' "$word")")
  done
  return 0
}

_convohouse_ids() {
  local id
  while IFS= read -r id; do
    _convohouse_offer "$id"
  done < <("\${COMP_WORDS[0]}" completion --values "$1" -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
}

_convohouse_paths() {
  local path
  compopt -o filenames 2>/dev/null
  while IFS= read -r path; do
    COMPREPLY+=("$path")
  done < <(compgen "$1" -- "$current")
}

_convohouse() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" command="" at
  COMPREPLY=()
  # \`--flag=value\` comes as three words.
  if [[ "$current" == "=" ]]; then
    current=""
  elif [[ "$previous" == "=" ]]; then
    previous="\${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in
      ${commands.map(command => command.name).join('|')}) command="\${COMP_WORDS[at]}"; break ;;
    esac
  done
  case "$command $previous" in
${commands.flatMap(command => valueCases(command.name, command.flags)).join('\n')}
  esac
  case "$command" in
${commands.map(wordCase).join('\n')}
    *) if [[ "$current" == -* ]]; then _convohouse_offer ${namesOf(flags)}; else _convohouse_offer ${commands.map(command => command.name).join(' ')}; fi ;;
  esac
}

complete -F _convohouse ${name}
`
}
