import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Config, readConfig, readHome } from '../src/config.ts'
import type { ConvohouseError } from '../src/core/errors.ts'

const SECRET = 'sk-very-secret-token'
const ENV = {
  CONVOHOUSE_API_URL: 'https://api.example.com',
  CONVOHOUSE_API_TOKEN: SECRET,
  CONVOHOUSE_WORKSPACE: 'ws_env',
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'convohouse-config-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
/** Writes a new file; workspaces are given as lines below `workspaces:`. */
function file(text: string): string {
  const path = join(folder, `config-${++files}.yaml`)
  writeFileSync(path, text)
  return path
}

const workspace = (...lines: string[]): string =>
  [
    'workspaces:',
    '  - id: ws_1',
    '    apiUrl: https://api.example.com',
    '    token: { env: WS_1_TOKEN }',
    ...lines.map(line => `    ${line}`),
    '',
  ].join('\n')

function errorOf(read: () => Config): ConvohouseError {
  try {
    read()
  } catch (error) {
    return error as ConvohouseError
  }
  throw new Error('was accepted')
}

const refusal = (text: string): ConvohouseError => errorOf(() => readConfig({ path: file(text), env: {} }))

describe('a configuration from the environment', () => {
  it('needs no file', () => {
    const config = readConfig({ env: { ...ENV, CONVOHOUSE_HOME: 'data' }, cwd: folder })
    expect(config).toMatchObject({
      home: join(folder, 'data'),
      source: 'the environment',
      memoryLimit: '640MB',
      replayMemoryLimit: '1GB',
    })
    expect(config.workspaces).toMatchObject([
      { id: 'ws_env', apiUrl: 'https://api.example.com', settleMs: 120_000, hourReserveShare: 0.02, maxPage: 100 },
    ])
    expect(config.workspaces[0]!.readToken()).toBe(SECRET)
  })

  it('reads the token from a file if one is named instead', () => {
    const { CONVOHOUSE_API_TOKEN: _, ...env } = ENV
    const path = file(`${SECRET}\n`)
    const config = readConfig({ env: { ...env, CONVOHOUSE_API_TOKEN_FILE: basename(path) }, cwd: folder })
    expect(config.workspaces[0]!.tokenKept).toEqual({ file: path })
    expect(config.workspaces[0]!.readToken()).toBe(SECRET)
    const gone = readConfig({ env: { ...env, CONVOHOUSE_API_TOKEN_FILE: 'no-such-file' }, cwd: folder })
    expect(() => gone.workspaces[0]!.readToken()).toThrow(
      /no-such-file, which must contain the API token, cannot be read/,
    )
    const both = errorOf(() => readConfig({ env: { ...ENV, CONVOHOUSE_API_TOKEN_FILE: path }, cwd: folder }))
    expect([both.code, both.message]).toEqual(['CONFIG_INVALID', expect.stringContaining('CONVOHOUSE_API_TOKEN_FILE')])
    expect(both.message).not.toContain(SECRET)
  })

  it.each(Object.keys(ENV))('is rejected without %s', name => {
    const error = errorOf(() => readConfig({ env: { ...ENV, [name]: ' ' }, cwd: folder }))
    expect(error.code).toBe('CONFIG_MISSING')
    expect(error.message).toContain(name)
    expect(error.hint).toContain('convohouse init')
  })

  it('is rejected with the name of the variable whose address is invalid', () => {
    const error = errorOf(() => readConfig({ env: { ...ENV, CONVOHOUSE_API_URL: 'api.example.com' }, cwd: folder }))
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toMatch(/^CONVOHOUSE_API_URL must be an http\(s\) address/)
  })
})

describe('a variable', () => {
  it('with a line break at its end, as files with Windows line ends have it, is read without', () => {
    const env = Object.fromEntries(
      Object.entries({ ...ENV, CONVOHOUSE_HOME: 'data' }).map(([k, v]) => [k, ` ${v}\r\n`]),
    )
    const { home, workspaces } = readConfig({ env, cwd: folder })
    expect([home, workspaces[0]!.id, workspaces[0]!.readToken()]).toEqual([join(folder, 'data'), 'ws_env', SECRET])
    expect(readHome({ env: { CONVOHOUSE_HOME: 'data\r' }, cwd: folder })).toBe(join(folder, 'data'))
  })

  it.each([
    ...['CONVOHOUSE_HOME', 'CONVOHOUSE_WORKSPACE', 'CONVOHOUSE_API_TOKEN', 'CONVOHOUSE_API_URL', 'CONVOHOUSE_CHECKS'],
  ])('with a control character is refused by its name, and creates no folder: %s', name => {
    for (const character of ['\r', '\n', '\0', '\t', '\u2028', '\ufeff']) {
      const error = errorOf(() => readConfig({ env: { ...ENV, [name]: `https://a${character}b` }, cwd: folder }))
      expect([error.code, error.message]).toEqual(['CONFIG_INVALID', expect.stringContaining(`${name} contains`)])
    }
  })

  it.each(['~', '~/data', '/srv/~/data', '$HOME/data', '/srv/$USER/data', '%USERPROFILE%\\data', '"/srv/data"'])(
    'with a path that only a shell completes is refused: %s',
    path => {
      for (const name of ['CONVOHOUSE_HOME', 'CONVOHOUSE_CONFIG', 'CONVOHOUSE_MODELS', 'CONVOHOUSE_API_TOKEN_FILE']) {
        const error = errorOf(() => readConfig({ env: { ...ENV, [name]: path }, cwd: folder }))
        expect([error.code, error.message]).toEqual(['CONFIG_INVALID', expect.stringContaining(`${name} contains ~`)])
      }
    },
  )
})

describe('a configuration from a file', () => {
  it('can have several workspaces, each with its own settings and token', () => {
    const text = `home: ../elsewhere
memoryLimit: 2GiB
workspaces:
  - id: ws_1
    apiUrl: https://eu.example.com
    token: { env: WS_1_TOKEN }
    settle: 1d
    since: 90d
    timeZone: Europe/Berlin
    headReserve: 0
  - id: ws_2
    apiUrl: https://na.example.com
    token: { file: token.txt }
    since: 2026-01-31
`
    writeFileSync(join(folder, 'token.txt'), `${SECRET}\n`)
    const path = file(text)
    const config = readConfig({ path, env: { WS_1_TOKEN: 'one' } })
    expect(config).toMatchObject({
      home: join(folder, '..', 'elsewhere'),
      memoryLimit: '2GiB',
      replayMemoryLimit: '2GiB',
      source: path,
    })
    const [first, second] = config.workspaces
    expect(first).toMatchObject({
      ...{ id: 'ws_1', since: '90d', settleMs: 86_400_000, timeZone: 'Europe/Berlin', headReserveShare: 0 },
    })
    expect(first!.readToken()).toBe('one')
    expect(second!.readToken()).toBe(SECRET)
    expect(second!.since).toMatch(/^2026-01-31/)
  })

  it.each([
    ['settle: soon', 'workspaces[0].settle', 5, /duration/],
    ['timeout: 5', 'workspaces[0].timeout', 5, /must be a duration such as 90s, 15m/],
    ['since: 2199-01-01', 'workspaces[0].since', 5, /future/],
    ['timeout: 25d', 'workspaces[0].timeout', 5, /24d at most/],
    ['timeZone: Berlin', 'workspaces[0].timeZone', 5, /IANA/],
    ['timeZone: "+05:30"', 'workspaces[0].timeZone', 5, /IANA/],
    ['schedule: { cron: 5 * * * }', 'workspaces[0].schedule.cron', 5, /cron expression of five fields/],
    ['requestsPerHour: many', 'workspaces[0].requestsPerHour', 5, /must be a number, not a text/],
    ['pageSize: 1.5', 'workspaces[0].pageSize', 5, /must be a whole number, not a fraction/],
  ])('is rejected with setting and line for %s', (line, setting, lineNumber, why) => {
    const error = refusal(workspace(line))
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toContain(`${setting} (line ${lineNumber})`)
    expect(error.message).toMatch(why)
    expect(error.hint).toContain('convohouse init')
  })

  it.each([
    ['an unknown setting', `${workspace()}colour: red\n`, /colour \(line 5\) is not a known setting/],
    ['no workspace', 'workspaces: []\n', /workspaces \(line 1\).*at least one/],
    ['an empty file', '', /the file is empty/],
    ['too little memory', `memoryLimit: 5MB\n${workspace()}`, /memoryLimit \(line 1\) must be from 128MB/],
    [
      'more memory than DuckDB can count',
      `memoryLimit: 9999999TB\n${workspace()}`,
      /memoryLimit \(line 1\) must be from/,
    ],
    ['a home directory in a path', `models: ~/models\n${workspace()}`, /models \(line 1\) contains ~, \$NAME/],
    [
      'a variable in the path of a token',
      workspace().replace('{ env: WS_1_TOKEN }', '{ file: $HOME/token }'),
      /token.file \(line 4\) contains ~/,
    ],
    ['a control character in an id', workspace('organizations: ["a\\r"]'), /organizations\[0\] \(line 5\) contains a/],
    ['a line break in a path', `home: |\n  data\n${workspace()}`, /home \(line 1\) contains a line break/],
    ['an invalid size', `memoryLimit: much\n${workspace()}`, /memoryLimit \(line 1\).*size such as 1GB/],
    [
      'an address with a password',
      workspace().replace('https://', 'https://me:pw@'),
      /workspaces\[0\]\.apiUrl \(line 3\)/,
    ],
    [
      'a duplicate workspace',
      `${workspace()}${workspace().split('\n').slice(1).join('\n')}`,
      /"ws_1" is configured twice/,
    ],
    ['invalid YAML', 'workspaces: [\n', /not valid YAML.*line/],
  ])('is rejected if it has %s', (_, text, why) => {
    const error = refusal(text)
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toMatch(why)
  })

  it('is rejected with all its errors at once', () => {
    const { message } = refusal(workspace('settle: soon', 'pageSize: 0'))
    expect(message).toContain('settle (line 5)')
    expect(message).toContain('pageSize (line 6)')
  })

  it('is rejected if it does not exist', () => {
    const error = errorOf(() => readConfig({ path: join(folder, 'none.yaml'), env: {} }))
    expect(error).toMatchObject({ code: 'CONFIG_MISSING', message: expect.stringContaining('none.yaml') })
  })
})

describe('the source of a configuration', () => {
  it('is the given path, else CONVOHOUSE_CONFIG, else the environment, else the file in the working folder', () => {
    const here = mkdtempSync(join(folder, 'here-'))
    const named = (id: string) => workspace().replace('ws_1', id)
    writeFileSync(join(here, 'convohouse.yaml'), named('ws_lies_there'))
    const [given, variable] = [file(named('ws_given')), file(named('ws_variable'))]
    const idOf = (options: Parameters<typeof readConfig>[0]) => readConfig(options).workspaces[0]!.id
    const all = { ...ENV, CONVOHOUSE_CONFIG: variable }
    expect(idOf({ path: given, env: all, cwd: here })).toBe('ws_given')
    expect(idOf({ env: all, cwd: here })).toBe('ws_variable')
    expect(idOf({ env: ENV, cwd: here })).toBe('ws_env')
    expect(idOf({ env: {}, cwd: here })).toBe('ws_lies_there')
  })

  it('gives the data folder also without a workspace, and CONVOHOUSE_HOME takes precedence over the file', () => {
    const path = file(`home: kept\n${workspace()}`)
    expect(readHome({ path, env: {}, cwd: folder })).toBe(join(folder, 'kept'))
    expect(readHome({ path, env: { CONVOHOUSE_HOME: '/elsewhere' }, cwd: folder })).toBe('/elsewhere')
    expect(readHome({ env: {}, cwd: join(folder, 'nowhere') })).toBe(join(folder, 'nowhere', 'convohouse-data'))
    const refused = errorOf(() => readHome({ env: { CONVOHOUSE_HOME: 'why?/data' }, cwd: folder }) as unknown as Config)
    expect(refused).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('question mark') })
  })
})

describe('a token', () => {
  const tokenError = (line: string, env = {}): ConvohouseError => {
    const config = readConfig({ path: file(workspace().replace('{ env: WS_1_TOKEN }', line)), env })
    return errorOf(() => config.workspaces[0]!.readToken() as unknown as Config)
  }

  it('is read when it is needed, and if it is missing, the error says where it was expected', () => {
    expect(tokenError('{ env: WS_1_TOKEN }')).toMatchObject({
      code: 'TOKEN_MISSING',
      message: expect.stringContaining('WS_1_TOKEN') as string,
    })
    expect(tokenError('{ file: none.txt }').message).toContain(join(folder, 'none.txt'))
    writeFileSync(join(folder, 'empty.txt'), '\n')
    expect(tokenError('{ file: empty.txt }').message).toMatch(/empty\.txt.*is empty/)
  })

  it.each([
    ['variable', 'sk_live_51HvA9bC2dE3fG4h'],
    ['variable', '9f8e7d6c-5b4a-4938-8271-605f4e3d2c1b'],
    ['file', '9f8e7d6c5b4a49388271605f4e3d2c1b'],
  ])('is not printed if it was written in place of the name of its %s: %s', (kind, token) => {
    const error = tokenError(`{ ${kind === 'file' ? 'file' : 'env'}: "${token}" }`)
    expect(error).toMatchObject({
      code: 'TOKEN_MISSING',
      message: expect.stringMatching(new RegExp(`^The ${kind} .* may be the API token itself`)) as string,
    })
    expect(JSON.stringify([error, error.message, error.hint, error.stack])).not.toContain(token)
  })

  it.each([
    ['a token in the file itself', workspace().replace('{ env: WS_1_TOKEN }', SECRET)],
    ['a token as an unknown setting', workspace(`apiToken: ${SECRET}`)],
    ['a token in place of another value', workspace(`settle: ${SECRET}`)],
    ['a token in the address', workspace().replace('https://', `https://user:${SECRET}@`)],
    ['a token beside broken YAML', `${workspace()}x: "${SECRET}\n`],
    ['a token in YAML that quotes it', workspace().replace('{ env: WS_1_TOKEN }', `|${SECRET}`)],
    ['a token that begins like an alias', workspace().replace('{ env: WS_1_TOKEN }', `*${SECRET}`)],
  ])('is in no error: %s', (_, text) => {
    const error = refusal(text)
    expect(error.code).toBe('CONFIG_INVALID')
    expect(JSON.stringify([error, error.message, error.hint, error.stack, String(error.cause)])).not.toContain(SECRET)
  })

  it('is not in the configuration as JSON', () => {
    const config = readConfig({ env: ENV, cwd: folder })
    expect(JSON.stringify(config)).not.toContain(SECRET)
  })
})
