import { describe, expect, it } from 'vitest'
import { givenTo } from '../../../src/cli/completion/ids.ts'
import { modelOf } from '../../../src/cli/completion/model.ts'
import { createProgram } from '../../../src/cli/program.ts'

describe('the model of the program', () => {
  const model = modelOf(createProgram())
  const taken = (command: string, name: string) =>
    model.commands.find(one => one.name === command)!.flags.find(({ names }) => names.includes(name))?.value

  it('has every command with every flag of its help, and no hidden one', () => {
    const program = createProgram()
    expect(model.commands.map(({ name }) => name)).toEqual(program.commands.map(command => command.name()))
    for (const command of program.commands) {
      const known = model.commands.find(({ name }) => name === command.name())!.flags.flatMap(({ names }) => names)
      const shown = [...command.helpInformation().matchAll(/^ {2}(?:(-\w), )?(--[\w-]+)/gm)]
      expect(shown.length).toBeGreaterThan(0)
      for (const [, , long] of shown) expect(known, command.name()).toContain(long)
    }
    expect(taken('completion', '--values')).toBeUndefined()
  })

  it.each([
    ['sync', '--json', { kind: 'none' }],
    ['sync', '--since', { kind: 'text' }],
    ['sync', '-c', { kind: 'file' }],
    ['sync', '--refresh', { kind: 'file' }],
    ['demo', '--home', { kind: 'folder' }],
    ['sandbox', '--ts', { kind: 'choices', words: ['created', 'activity'] }],
    ['sync', '-a', { kind: 'ids', of: 'agent' }],
    ['status', '--workspace', { kind: 'ids', of: 'workspace' }],
  ])('knows what %s %s takes', (command, flag, value) => expect(taken(command, flag)).toEqual(value))
})

describe('the value of a flag on the line', () => {
  const names = ['-c', '--config']
  it.each([
    [['sync', '--config', 'a.yaml', '-w'], 'a.yaml'],
    [['sync', '-c', 'a.yaml'], 'a.yaml'],
    [['sync', '--config=a.yaml'], 'a.yaml'],
    [['sync', '--config', '=', 'a.yaml'], 'a.yaml'],
    [['sync', '--workspace', 'x'], undefined],
    [['sync', '--config'], undefined],
  ])('of %j is %s', (words, value) => expect(givenTo(names, words)).toBe(value))
})
