import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { has, type Shelf, shelf } from './shell-process.ts'

/** A zsh in a terminal of its own, in which the line is typed, Tab pressed, and what stands there then printed. */
const TYPING = `
zmodload zsh/zpty
zpty typed zsh -f -i
zpty -w typed 'PS1=; PS2=; unsetopt beep; autoload -U compinit; compinit -u -D; eval "$(convohouse completion zsh)"'
zpty -w typed 'show() { print -r -- "<<$BUFFER>>"; BUFFER= }; zle -N show; bindkey "^X" show; bindkey "^I" complete-word; print re""ady'
zpty -r typed seen '*ready*'
zpty -w -n typed "$1"$'\\t\\x18'
zpty -r typed seen '*<<*>>*'
zpty -d typed
print -r -- "\${\${seen##*<<}%%>>*}"
`

/** What a Tab behind that line makes of it. */
async function completed({ folder, shell }: Shelf, line: string): Promise<string> {
  const script = join(folder, 'typing.zsh')
  await writeFile(script, TYPING)
  return (await shell('zsh', ['-f', script, line])).trimEnd()
}

describe.skipIf(!(await has('zsh')))('completion in zsh', () => {
  it.each([
    ['convohouse dict', 'convohouse dictionary'],
    ['convohouse sync --no-w', 'convohouse sync --no-wait'],
    ['convohouse query --format nd', 'convohouse query --format ndjson'],
    ['convohouse query --format=parq', 'convohouse query --format=parquet'],
    ['convohouse completion f', 'convohouse completion fish'],
    ['convohouse status -w ws_t', 'convohouse status -w ws_two'],
    ['convohouse sync --workspace ws_one --agent ag', 'convohouse sync --workspace ws_one --agent agent-a'],
    ['convohouse sync --agent \\$', 'convohouse sync --agent \\$\\(touch\\ pwned\\)'],
    ['convohouse query --file conv', 'convohouse query --file convohouse'],
  ])('makes of %s %s', async (line, expected) => {
    expect((await completed(await shelf(), line)).replace(/\.yaml$/, '')).toBe(expected)
  })
})
