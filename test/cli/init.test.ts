import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import { CONFIG_TEMPLATE } from '../../src/cli/init.ts'
import { targets as targetsSchema } from '../../src/config/targets.ts'
import { file, readConfig } from '../../src/config.ts'
import { temporaryFolder } from './cli-process.ts'
import { inProcess } from './in-process.ts'

const TOKEN = { CONVOHOUSE_API_TOKEN: 'x' }

describe('init', () => {
  it('writes a configuration that is valid without changes', async () => {
    const cwd = await temporaryFolder()
    const { code, stdout } = await inProcess(['init'], { cwd })
    expect(code).toBe(0)
    expect(stdout).toContain('convohouse plan')
    const config = readConfig({ cwd, env: TOKEN })
    expect(config.home).toBe(join(cwd, 'convohouse-data'))
    expect(config.workspaces.map(({ id, apiUrl, since }) => ({ id, apiUrl, since }))).toEqual([
      { id: 'my-workspace', apiUrl: 'https://api.example.com', since: null },
    ])
    expect(config.workspaces[0]!.readToken()).toBe('x')
  })

  it('overwrites a file only with --force', async () => {
    const cwd = await temporaryFolder()
    const path = join(cwd, 'convohouse.yaml')
    await writeFile(path, 'mine')
    const refused = await inProcess(['init'], { cwd })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('error CONFIG_EXISTS')
    expect(await readFile(path, 'utf8')).toBe('mine')
    expect((await inProcess(['init', '--print'], { cwd })).stdout).toBe(CONFIG_TEMPLATE)
    expect(await readFile(path, 'utf8')).toBe('mine')
    expect((await inProcess(['init', '--force'], { cwd })).code).toBe(0)
    expect(await readFile(path, 'utf8')).toBe(CONFIG_TEMPLATE)
  })

  /** The template with all settings that it shows as comments enabled, at the top level and of a workspace. */
  const switchedOn = CONFIG_TEMPLATE.replace(/^(\s*)# (\w+: (?:\S+|\{ .* \}))$/gm, '$1$2')

  it('shows every setting with its default', async () => {
    const folder = await temporaryFolder()
    /** Settings whose comment shows an example instead of the default. */
    // With `serve`, its own snapshot is a target.
    const examples = [
      ...['serve', 'targets', 'source', 'threads', 'telemetry', 'checks', 'metrics', 'pages', 'models', 'extensions'],
    ]
    const ofWorkspace = [
      'readToken',
      'readProxy',
      'readWebhookSecrets',
      'since',
      'headReserveShare',
      'schedule',
      'retention',
    ]
    const without = (settings: object, names: readonly string[]) =>
      Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)))
    const [asWritten, asCommented] = await Promise.all(
      [CONFIG_TEMPLATE, switchedOn].map(async (text, at) => {
        const path = join(folder, `${at}.yaml`)
        await writeFile(path, text)
        const { workspaces, ...rest } = readConfig({ path, env: TOKEN })
        const each = workspaces.map(one => without(one, [...ofWorkspace, 'responseRules']))
        return { ...without(rest, examples), workspaces: each }
      }),
    )
    expect(asCommented).toEqual(asWritten)
  })

  it('omits no setting', () => {
    const document = parseDocument(switchedOn).toJS()
    const { targets: _, ...top } = file.shape
    expect(Object.keys(document).sort()).toEqual(Object.keys(top).sort())
    const shown = [...Object.keys(document.workspaces[0]), 'sla'].sort()
    expect(shown).toEqual(Object.keys(file.shape.workspaces.element.shape).sort())
    expect(CONFIG_TEMPLATE).toContain('# sla:')
  })

  it('shows a target that is valid without changes; the page of each type of target shows every setting', async () => {
    const targets = /^# targets:\n(?:#.*\n)*?(?=# publish)/m.exec(CONFIG_TEMPLATE)![0].replace(/^# ?/gm, '')
    const path = join(await temporaryFolder(), 'convohouse.yaml')
    await writeFile(path, `${targets}${CONFIG_TEMPLATE}`)
    expect(readConfig({ path, env: TOKEN }).targets).toMatchObject([{ name: 'dashboards', type: 'snapshot' }])
    const everywhere = ['pii', 'rows', 'searchLanguage']
    for (const { shape } of targetsSchema.element.options) {
      const type = shape.type.value
      const page = await readFile(join(import.meta.dirname, '../../docs/targets', `${type}.md`), 'utf8')
      const names = Object.keys(shape).filter(name => !everywhere.includes(name))
      expect(
        names.filter(name => !page.includes(`${name}:`)),
        type,
      ).toEqual([])
    }
  })
})
