import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { createProgram } from '../../src/cli/program.ts'
import { cli } from './cli-process.ts'
import { inProcess } from './in-process.ts'

const commands = createProgram().commands.map(command => command.name())

describe('the command', () => {
  it('prints its help if no command is named', async () => {
    const { code, stdout } = await cli([])
    expect(code).toBe(0)
    for (const name of commands) expect(stdout).toContain(`\n  ${name}`)
  })

  it('prints its version', async () => {
    expect(await cli(['--version'])).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
  })

  it('offers these commands', () => {
    expect(commands).toEqual([
      'init',
      'plan',
      'sync',
      'up',
      'worker',
      'receive',
      'schedule',
      'pause',
      'resume',
      'allow',
      'cancel',
      'status',
      'ledger',
      'doctor',
      'check',
      'query',
      'publish',
      'quarantine',
      'dictionary',
      'api',
      'replay',
      'prune',
      'sandbox',
      'demo',
    ])
  })

  it.each(commands)('explains %s with examples', async name => {
    const { code, stdout, stderr } = await inProcess([name, '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`Usage: convohouse ${name}`)
    expect(stdout).toContain('Examples:')
    expect(stdout).toContain(`$ convohouse ${name}`)
  })

  it('shows each default once, in a readable form', () => {
    for (const command of createProgram().commands) {
      const help = command.helpInformation().replace(/\s+/g, ' ')
      expect(help, command.name()).not.toMatch(/\(default: [^)]*\) \(default|<duration> [^(]*\(default: \d{3,}\)/)
    }
  })
})
