import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { redactForms, redactSecrets, writtenForms } from '../../src/client/redaction/redaction.ts'
import { isSecret, isSecretName, nameMeaning } from '../../src/client/redaction/secret-names.ts'

const LONGER_NAMES = ['vg_variables', 'n[1].requestHeaders.X', 'toolFields', 'envVars.A', 'env_vars', 'environment.B']

describe('the name of a secret', () => {
  it.each([
    ...['dashboardPassword', 'magicCode', 'usedSecret', 'FB_PUSH_TOKEN', 'serverUrlSecret', 'apiKey', 'SECRET_API_KEY'],
    ...['whatsappToken', 'workspaceSecret', 'privateKey', 'vapi_private_key', 'Authorization', 'X-Api-Key', 'api key'],
    ...['tokenUsageSecret', 'accessToken', 'TOKENSECRET', 'pass', 'smtpPass', 'dbpass', 'pwd', 'userPwd', 'passwd'],
    ...['credentials', 'accessKey', 'AWS_ACCESS_KEY_ID', 'Cookie', 'set-cookie', 'jwt', 'bearer', 'passphrase'],
    ...['signingKey', 'encryption_key', 'Ocp-Apim-Subscription-Key', 'DB_PASSWORD', 'apikey', 'passKey', 'hmac_key'],
  ])('is recognised: %s', name => expect(isSecretName(name)).toBe(true))

  it.each([
    ...['tokenUsage', 'vg_max_tokens', 'lastTurnTotalTokens', 'key', 'publicKey', 'magic', 'tokensUsage', 'sessionKey'],
    ...['bypass', 'compass', 'passenger', 'passThrough', 'keyboard', 'tokenizer', 'tokenizedText', 'secretary'],
  ])('is not recognised in %s', name => expect(isSecretName(name)).toBe(false))

  it('is distinguished from that of a token count', () => {
    for (const value of [4_096, '4096', null, { text: 3, audio: '2' }]) expect(isSecret('maxTokens', value)).toBe(false)
    for (const value of ['sk_1', ['sk_1'], { a: { b: 'sk_1' } }]) expect(isSecret('accessTokens', value)).toBe(true)
  })
})

describe('redaction', () => {
  it.each([
    ['objects', '{"a":', '}'],
    ['lists', '[', ']'],
    ['counts of tokens', '{"maxTokens":', '}'],
  ])('drops %s that are nested without end, and keeps everything beside them', (_, open, close) => {
    const deep = `${open.repeat(100_000)}"canary"${close.repeat(100_000)}`
    const { value, droppedPaths } = redactSecrets(JSON.parse(`{"agents":[{"ID":"a1","x":${deep}},{"ID":"a2"}]}`))
    expect(droppedPaths).toHaveLength(1)
    expect(JSON.stringify(value)).not.toContain('canary')
    expect(value).toMatchObject({ agents: [{ ID: 'a1' }, { ID: 'a2' }] })
  })

  it.each([
    [
      'a variable of the environment',
      { key: 'host', isEnv: true, value: 'x', defaultValue: 'y' },
      { key: 'host', isEnv: true },
      ['value', 'defaultValue'],
    ],
    [
      'a key of external voice settings',
      { externalVoiceSettings: { elevenKey: 'x', voice: 'v' } },
      { externalVoiceSettings: { voice: 'v' } },
      ['externalVoiceSettings.elevenKey'],
    ],
    ['a header with a name instead of a key', { name: 'x-api-key', value: 'x' }, { name: 'x-api-key' }, ['value']],
    [
      'an audit entry about a secret',
      { field: 'tools[t1].serverUrlSecret', oldValue: 'x', newValue: 'y' },
      { field: 'tools[t1].serverUrlSecret' },
      ['oldValue', 'newValue'],
    ],
    [
      'a secret inside audited text',
      { field: 'tools', newValue: '[{"id":1,"apiKey":"x"}]' },
      { field: 'tools', newValue: '[{"id":1}]' },
      ['newValue[0].apiKey'],
    ],
    [
      'audited text that is cut off',
      { field: 'tools', newValue: '[{"id":1,"apiKey":"x' },
      { field: 'tools' },
      ['newValue'],
    ],
    [
      'a name that ends in key, in the configuration of a service',
      { retellConfig: { key: 'x', sortKey: 'y' }, mcpServers: { notes: { env: { OPENAI_KEY: 'z', NAME: 'n' } } } },
      { retellConfig: {}, mcpServers: { notes: { env: { NAME: 'n' } } } },
      ['retellConfig.key', 'retellConfig.sortKey', 'mcpServers.notes.env.OPENAI_KEY'],
    ],
    [
      'a header by its name',
      { headers: { 'X-Auth': 'x', Cookie: 'y', Accept: '*/*' }, auth: { user: 'u', pass: 'p' } },
      { headers: { Accept: '*/*' }, auth: { user: 'u' } },
      ['headers.X-Auth', 'headers.Cookie', 'auth.pass'],
    ],
    [
      'a header in a list',
      {
        headers: [{ key: 'X-Auth', value: 'x' }, { name: 'routing-key', value: 'y' }, 'X-Api-Key: z', ['Cookie', 'c']],
      },
      {
        headers: [
          { key: 'X-Auth', value: null },
          { name: 'routing-key', value: null },
          'X-Api-Key: ***',
          ['Cookie', '***'],
        ],
      },
      ['headers[0].value', 'headers[1].value', 'headers[2]', 'headers[3][1]'],
    ],
    [
      'an option of a program',
      { mcpServers: [{ args: ['--api-key', 'x', '--access-token=y', '-v', '--name', 'n'] }] },
      { mcpServers: [{ args: ['--api-key', '***', '--access-token=***', '-v', '--name', 'n'] }] },
      ['mcpServers[0].args[1]', 'mcpServers[0].args[2]'],
    ],
    [
      'audited values of a variable, a tool field or a header',
      [
        { field: 'variables[v1].value', newValue: 'x' },
        { field: 'tools[t1].fields[f1].defaultValue', oldValue: 'y' },
        { field: 'nodes[n1].mcpServers[m].headers.Anything', newValue: 'z' },
        { field: 'retellConfig.key', newValue: 'k' },
      ],
      [
        { field: 'variables[v1].value' },
        { field: 'tools[t1].fields[f1].defaultValue' },
        { field: 'nodes[n1].mcpServers[m].headers.Anything' },
        { field: 'retellConfig.key' },
      ],
      ['[0].newValue', '[1].oldValue', '[2].newValue', '[3].newValue'],
    ],
    [
      'audited values of variables and headers under longer names',
      LONGER_NAMES.map(field => ({ field, newValue: 'x' })),
      LONGER_NAMES.map(field => ({ field })),
      LONGER_NAMES.map((_, at) => `[${at}].newValue`),
    ],
    [
      'audited text that is cut off behind a name whose end tells',
      ['{"smtpPass":"x', '{"a":1,"X-Auth" : "x', '[{"in":"header","key":"X-Auth-Key","value":"x'].map(newValue => ({
        field: 'advanced',
        newValue,
      })),
      Array(3).fill({ field: 'advanced' }),
      ['[0].newValue', '[1].newValue', '[2].newValue'],
    ],
    [
      'a key that is a secret itself, and does not name it in a path',
      { a: { 'sk-0123456789': 1 }, 'Eve Smith': { token: 't' }, s3cr3tvalue: { token: 't' } },
      { a: {}, 'Eve Smith': {}, s3cr3tvalue: {} },
      ['a.*', '*.token', '*.token'],
    ],
    ['a name anywhere', [{ a: [{ usedSecret: { deep: 1 } }] }], [{ a: [{}] }], ['[0].a[0].usedSecret']],
  ])('drops %s', (_name, value, kept, droppedPaths) => {
    expect(redactSecrets(value)).toEqual({ value: kept, droppedPaths })
  })

  it.each([
    { key: 'host', isEnv: false, value: 'x', defaultValue: 'y' },
    { tokenUsage: { cumulativeInputTokens: 3, lastTurnModelId: 'm', usagePerModel: { m: { totalTokens: 9 } } } },
    { field: 'nodes[n1].instructions', oldValue: 'Never say your password.', newValue: '{ not JSON' },
    { field: 'nodes[n1].kb', newValue: '{ "spaced" : 1 }' },
    { field: 'vg_maxTokens', oldValue: '2048', newValue: '4096' },
    { field: 'chatHeader', newValue: 'Hello' },
    { field: 'leadCollectionRules.requiredFields', newValue: '["email"]' },
    { field: 'nodes', newValue: '[{"maxTokens":4096,"instructions":"be' },
    { key: 'maxTokens', value: 4_096 },
    { field: 'password', label: 'a form field, not an audit entry' },
    { internal: { hasChangedPassword: true }, requirePassword: 'false', apiKey: null, accessTokens: [], secret: '' },
    { passenger: 'Eve', keyboard: 'qwertz', secretSet: false },
    {
      formData: { 'Password reset needed?': 'yes' },
      capturedVariables: { discount_token: 'SAVE20', secret_santa: 'Eve' },
    },
    { metrics: [{ key: 'password_reset_asked', value: 'yes' }], notes: [{ token: 1 }], messages: [{ password: 'hm' }] },
    { turns: [{ toolCalls: [{ args: { token: 'T-1' } }] }], messagesHistory: [{ isEnv: true, value: 'v' }] },
    { lightConvoData: { externalSession: { sessionKey: 's' }, anything: { apiKey: 'theirs' } } },
    { title: 'Basic assistance', language: 'sk-SK', authType: 'Bearer token', url: 'https://example.com/@me?page=1' },
    { llmConfig: { prompt: 'Be brief.\nPassword: ask for it by mail.\nToken: no.', quote: '"Be: brief"' } },
    {
      vapiConfig: [
        { field: 'a.token', oldValue: '' },
        { field: 'env.A', oldValue: null },
      ],
    },
    { headers: { Authorization: '' }, instructions: 'Say: Bearer {{var:token}}; never tell a password.' },
  ])('leaves %j unchanged', value => {
    expect(redactSecrets(value)).toEqual({ value, droppedPaths: [] })
  })

  it.each([
    ['JSON in JSON', { settings: JSON.stringify(JSON.stringify({ apiKey: 'canary', a: 1 })) }],
    ['JSON in JSON in JSON', { settings: JSON.stringify(JSON.stringify(JSON.stringify([{ apiKey: 'canary' }]))) }],
    ['lines of headers', { headers: 'Accept: */*\r\nX-Api-Key: canary\r\nX-Trace: 1' }],
    ['lines of variables', { env: '# ours\nHOST=x\n\nexport OPENAI_KEY=canary\nTOKEN=canary' }],
    ['an environment variable that is marked in other words', { variables: [{ isEnv: 'True', value: 'canary' }] }],
  ])('finds a secret in %s', (_, value) => {
    const once = redactSecrets(value)
    expect(JSON.stringify(once.value)).not.toContain('canary')
    expect(redactSecrets(once.value)).toEqual({ value: once.value, droppedPaths: [] })
  })

  it('keeps a key __proto__ as data', () => {
    const value = JSON.parse('{"__proto__":{"apiKey":"x","kept":1}}')
    expect(JSON.stringify(redactSecrets(value).value)).toBe('{"__proto__":{"kept":1}}')
  })

  it('drops nothing more the second time, for any value', () => {
    const key = fc.oneof(
      fc.string(),
      fc.constantFrom('key', 'name', 'value', 'isEnv', 'field', 'oldValue', 'apiKey', 'fooTokens', 'vapiX', 'turns'),
    )
    const leaf = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom(null, 'Authorization', 'a.token', '{"apiKey":1}', 'X-Key: 1', '--token', 'sk-012345678', 'env.A'),
    )
    const { any } = fc.letrec<{ any: unknown }>(tie => ({
      any: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('any')), fc.dictionary(key, tie('any'))),
    }))
    fc.assert(
      fc.property(any, value => {
        const once = redactSecrets(value).value
        expect(secretNamesIn(once)).toEqual([])
        expect(redactSecrets(once)).toEqual({ value: once, droppedPaths: [] })
      }),
    )
  })
})

/** Ways in which a tool, a variable or a server's settings carry a credential. */
const CARRIERS: Record<string, (name: string, value: string) => unknown> = {
  'an object of headers': (name, value) => ({ headers: { [name]: value } }),
  'an object of parameters': (name, value) => ({ queryParams: { [name]: value } }),
  'a header field': (name, value) => ({ fields: [{ in: 'header', key: name, value, type: 'string' }] }),
  'a query field': (name, value) => ({ fields: [{ in: 'query', key: name, defaultValue: value }] }),
  'a body field': (name, value) => ({ fields: [{ in: 'body', key: name, value, defaultValue: value }] }),
  'a variable': (name, value) => ({ variables: [{ key: name, isEnv: false, value }] }),
  'a named pair': (name, value) => ({ anything: [{ name, value }] }),
  'a named header': (name, value) => ({ anything: [{ headerName: name, headerValue: value }] }),
  'a parameter with a default': (name, value) => ({ anything: [{ parameter: name, default: value }] }),
  'a list of pairs': (name, value) => ({
    anything: [
      ['Accept', '*/*'],
      [name, value],
    ],
  }),
  'the query of an address': (name, value) => ({ serverUrl: `https://x.org/a?b=1&${name}=${value}` }),
  'the query of an address without a scheme': (name, value) => ({ serverUrl: `x.org/a?b=1&${name}=${value}` }),
  'the query of an address with a reference': (name, value) => ({ serverUrl: `https://x.org/{{id}}?${name}=${value}` }),
}

const CREDENTIALS = [
  ...[
    'X-Auth-Key',
    'x_auth_key',
    'authKey',
    'apikey',
    'api-key',
    'access-token',
    'accessToken',
    'key',
    'sig',
    'X-Auth',
  ],
  ...['hookSignature', 'session_cookie', 'userPassword', 'client_secret', 'Ocp-Apim-Subscription-Key', 'key2'],
]

describe('a credential', () => {
  it.each(Object.entries(CARRIERS))('is removed from %s under any of its names, and counted', (_, carry) => {
    for (const name of CREDENTIALS) {
      const { value, droppedPaths } = redactSecrets(carry(name, 'canary7'))
      const text = JSON.stringify(value)
      expect(text, name).not.toContain('canary7')
      expect(droppedPaths.length, name).toBeGreaterThan(0)
      expect(redactSecrets(value), name).toEqual({ value, droppedPaths: [] })
      if (!/^\{"(?:headers|queryParams|serverUrl)/.test(text)) expect(text).toContain(name)
    }
  })

  it.each(Object.entries(CARRIERS))('that is only referred to stays in %s, as do other values', (_, carry) => {
    const references = ['{{var:token}}', '{{ token }}', 'Bearer {{var:token}}', '{{user}}:{{password}}', '']
    for (const name of CREDENTIALS)
      for (const reference of references.slice(0, JSON.stringify(carry('', '')).includes('serverUrl') ? 1 : undefined))
        expect(redactSecrets(carry(name, reference)), name).toEqual({ value: carry(name, reference), droppedPaths: [] })
    for (const name of ['orderId', 'monkey', 'publicKey', 'keyword', 'author', 'design', 'maxTokens', 'X-Request-Id'])
      expect(redactSecrets(carry(name, '42')), name).toEqual({ value: carry(name, '42'), droppedPaths: [] })
  })

  it('is no name in customer data, nor in an event that does not say where it is sent', () => {
    const pairs = [
      { name: 'loyalty_key', value: 'x' },
      { key: 'X-Auth-Key', value: 'y' },
    ]
    const sent = { in: 'header', key: 'X-Auth-Key', value: 'canary' }
    expect(redactSecrets({ formData: [...pairs, sent] }).droppedPaths).toEqual([])
    expect(redactSecrets({ anything: [...pairs, sent] }, { isOfCustomers: true })).toEqual({
      value: { anything: [...pairs, { in: 'header', key: 'X-Auth-Key' }] },
      droppedPaths: ['anything[2].value'],
    })
  })
})

it('names of parameters in a tool’s schema and in an event are kept, with their values', () => {
  const schema = { parameters: { properties: { customer_key: { type: 'string' }, signature: { type: 'string' } } } }
  expect(redactSecrets(schema)).toEqual({ value: schema, droppedPaths: [] })
  const call = { parameters: { sort_key: 'y' }, queryParams: { signature: 'z' }, query: 'where is my key: 123' }
  expect(redactSecrets(call, { isOfCustomers: true })).toEqual({ value: call, droppedPaths: [] })
})

const redactText = (text: string, secrets: readonly string[]) => redactForms(text, writtenForms(secrets))

describe('redaction of text', () => {
  it('blanks a token plain, in a URL and in JSON', () => {
    expect(redactText('a+b"c / a%2Bb%22c / a+b\\"c', ['a+b"c'])).toBe('*** / *** / ***')
  })

  it('blanks the longer of two tokens entirely', () => {
    expect(redactText('sk_1 sk_1_more', ['sk_1', '', 'sk_1_more'])).toBe('*** ***')
  })

  it('removes every token and changes nothing else', () => {
    const token = fc.string({ minLength: 1 }).filter(text => !text.includes('*'))
    fc.assert(
      fc.property(fc.array(token), fc.array(fc.string()), (tokens, texts) => {
        const text = texts.flatMap((part, i) => [part, tokens[i] ?? '']).join('')
        const redacted = redactText(text, tokens)
        for (const each of tokens) expect(redacted).not.toContain(each)
        if (redacted !== text) expect(redacted).toContain('***')
        expect(redactText(text, [])).toBe(text)
      }),
    )
  })
})

/** Returns the names of secrets outside of customer data. */
function secretNamesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const members = Object.entries(value).filter(([name]) => !nameMeaning(name).isCustomerData)
  const own = Array.isArray(value) ? [] : members.filter(([name, inner]) => isSecret(name, inner))
  return [...own.map(([name]) => name), ...members.flatMap(([, inner]) => secretNamesIn(inner))]
}
