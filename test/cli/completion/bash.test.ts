import { access, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../../src/cli/program.ts'
import { cli } from '../cli-process.ts'
import { HOSTILE, has, type Shelf, shelf } from './shell-process.ts'

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** What bash would offer behind these words, the last of which is being typed. */
async function offered({ shell }: Shelf, ...words: string[]): Promise<string[]> {
  const script = `eval "$(convohouse completion bash)"
    COMP_WORDS=(convohouse ${words.map(quoted).join(' ')}); COMP_CWORD=${words.length}
    _convohouse; [ \${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"`
  const text = await shell('bash', ['--norc', '-c', script])
  return text.split('\n').filter(line => line !== '')
}

describe.skipIf(!(await has('bash')))('completion in bash', () => {
  it('offers every command of the program, and its flags', async () => {
    const here = await shelf()
    const program = createProgram()
    expect(await offered(here, '')).toEqual(program.commands.map(command => command.name()))
    expect(await offered(here, 's')).toEqual(['sync', 'schedule', 'status', 'sandbox'])
    expect(await offered(here, '--v')).toEqual(['--version', '--verbose'])
    const sync = program.commands.find(command => command.name() === 'sync')!
    const flags = await offered(here, 'sync', '-')
    for (const { short, long, hidden } of sync.options)
      for (const name of [short, long]) if (name && !hidden) expect(flags).toContain(name)
    expect(flags).toContain('--help')
    expect(await offered(here, 'sync', '--json', '--no-')).toEqual(['--no-wait'])
  })

  it('offers the choices of a flag or an argument, however the flag is written', async () => {
    const here = await shelf()
    expect(await offered(here, 'query', '--format', '')).toEqual(['table', 'csv', 'json', 'ndjson', 'parquet', 'arrow'])
    // As bash splits `--format=nd`.
    expect(await offered(here, 'query', '--format', '=', 'nd')).toEqual(['ndjson'])
    expect(await offered(here, 'sandbox', '--ts', 'a')).toEqual(['activity'])
    expect(await offered(here, 'completion', '')).toEqual(['bash', 'zsh', 'fish'])
  })

  it('offers nothing where a value can be anything', async () => {
    const here = await shelf()
    expect(await offered(here, 'sync', '--since', '')).toEqual([])
    expect(await offered(here, 'query', 'SEL')).toEqual([])
  })

  it('offers files and folders where they are meant', async () => {
    const here = await shelf()
    await mkdir(join(here.folder, 'reports'))
    await writeFile(join(here.folder, 'report.sql'), 'SELECT 1')
    expect((await offered(here, 'query', '--file', 'rep')).sort()).toEqual(['report.sql', 'reports'])
    expect(await offered(here, 'demo', '--home', 'rep')).toEqual(['reports'])
  })

  it('offers the workspaces that are configured, and agents with landed pages of the one that is named', async () => {
    const here = await shelf()
    expect(await offered(here, 'sync', '--workspace', '')).toEqual(['ws_one', 'ws_two'])
    expect(await offered(here, 'sync', '-w', 'ws_t')).toEqual(['ws_two'])
    expect(await offered(here, 'sync', '--agent', 'agent')).toEqual(['agent-a'])
    expect(await offered(here, 'sync', '-w', 'ws_two', '--agent', '')).toEqual([])
    expect(await offered(here, 'sync', '--config', 'elsewhere.yaml', '-w', '')).toEqual([])
  })

  it('never obeys an id: it is offered as text, quoted', async () => {
    const here = await shelf()
    expect(await offered(here, 'sync', '--agent', '')).toContain('\\$\\(touch\\ pwned\\)')
    await expect(access(join(here.folder, 'pwned'))).rejects.toThrow('ENOENT')
    expect((await here.shell('convohouse', ['completion', '--values', 'agent'])).split('\n')).toContain(HOSTILE)
  })

  it('is set up by what the help says', async () => {
    const here = await shelf()
    const text = await here.shell('bash', [
      '--norc',
      '-c',
      'eval "$(convohouse completion bash)"; complete -p convohouse',
    ])
    expect(text).toBe('complete -F _convohouse convohouse\n')
  })
})

describe('completion', () => {
  it('for a shell that is none of ours is refused', async () => {
    const { code, stderr } = await cli(['completion', 'tcsh'])
    expect(code).toBe(2)
    expect(stderr).toBe('error FLAG_INVALID: completion cannot be for "tcsh".\n  → Give one of bash, zsh, fish.\n')
  })
})
