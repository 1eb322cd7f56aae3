import { describe, expect, it } from 'vitest'
import { HOSTILE, has, type Shelf, shelf } from './shell-process.ts'

/** What fish offers at the end of that line, without the descriptions. */
async function offered({ shell }: Shelf, line: string): Promise<string[]> {
  const text = await shell('fish', ['--no-config', '-c', `convohouse completion fish | source; complete -C "${line}"`])
  return text
    .split('\n')
    .map(one => one.split('\t')[0]!)
    .filter(one => one !== '')
}

describe.skipIf(!(await has('fish')))('completion in fish', () => {
  it('offers commands, flags, choices and ids', async () => {
    const here = await shelf()
    expect(await offered(here, 'convohouse s')).toEqual(['sandbox', 'status', 'sync'])
    expect(await offered(here, 'convohouse sync --no-')).toEqual(['--no-wait'])
    expect(await offered(here, 'convohouse query --format p')).toEqual(['parquet'])
    expect(await offered(here, 'convohouse completion ')).toEqual(['bash', 'fish', 'zsh'])
    expect(await offered(here, 'convohouse sync -w ')).toEqual(['ws_one', 'ws_two'])
    expect(await offered(here, 'convohouse sync --agent ')).toEqual([HOSTILE, 'agent-a'])
    expect(await offered(here, 'convohouse sync -w ws_two --agent ')).toEqual([])
    expect(await offered(here, 'convohouse sync --since ')).toEqual([])
  })
})
