import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { createProgram } from '../../src/cli/program.ts'
import { commandsPage, VARIABLES } from '../commands-page.ts'
import { root, sourcesBelow } from '../import-graph.ts'
import { cli } from './cli-process.ts'
import { inProcess } from './in-process.ts'

const { commands } = await createProgram()

describe('the command', () => {
  it('prints its help if no command is named', async () => {
    const { code, stdout } = await cli([])
    expect(code).toBe(0)
    for (const command of commands) expect(stdout).toContain(`\n  ${command.name()}`)
  })

  it('prints its version', async () => {
    expect(await inProcess(['--version'])).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
  })

  it('shows each default once, in a readable form', () => {
    for (const command of commands) {
      const help = command.helpInformation().replace(/\s+/g, ' ')
      expect(help, command.name()).not.toMatch(/\(default: [^)]*\) \(default|<duration> [^(]*\(default: \d{3,}\)/)
    }
  })
})

describe('docs/commands.md', () => {
  const page = readFileSync(join(root, 'docs', 'commands.md'), 'utf8')

  it('has the help of every command as the program prints it', async () => {
    expect(page, 'run `npm run docs`').toBe(await commandsPage())
    const { stdout } = await inProcess(['prune', '--help'])
    expect(page).toContain(stdout.trim().split('\n').at(-1))
  })

  it('shows examples of every command', () => {
    for (const command of commands)
      expect(page).toMatch(new RegExp(`^ +\\$ (.* )?convohouse ${command.name()}\\b`, 'm'))
  })

  it('lists every environment variable that the program reads', () => {
    const named = sourcesBelow('src').flatMap(({ text }) => text.match(/\bCONVOHOUSE_[A-Z_]*[A-Z]\b/g) ?? [])
    expect([...new Set(named)].filter(name => !Object.hasOwn(VARIABLES, name))).toEqual([])
  })
})
