// The target `parquet` in S3 on failures: credentials, rights, TLS, answers of the server.
import { once } from 'node:events'
import { copyFile, readdir, readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import type { ParquetTarget } from '../../src/config/targets/parquet.ts'
import { patchedTarget } from '../publish/patched-target.ts'
import { failureOf, load } from './postgres-scene.ts'
import { describeWithS3, type S3Target, s3Scene } from './s3-scene.ts'

const scene = s3Scene()
const { app, newTarget, publish } = scene

const CERTIFICATE = join(import.meta.dirname, '../cli/self-signed.pem')

const unverified = (target: ParquetTarget, options = {}) => publish(target, { verify: false, ...options })

/** Returns the text of a failure with its hint; it must not contain a key. */
async function failureText(target: ParquetTarget, options = {}): Promise<string> {
  const { code, message, hint } = await failureOf(unverified(target, options))
  const text = `${code} ${message} ${hint}`
  for (const { accessKeyId, secretAccessKey } of [scene.server.admin, scene.server.reader])
    for (const value of [accessKeyId, secretAccessKey]) expect(text).not.toContain(value)
  return text
}

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close()
})

/** Returns a proxy of S3 that may answer itself (`answer` returns true), or cut the connection once S3 has answered (`loses`). */
async function proxy(handle: {
  answer?: (req: IncomingMessage, res: ServerResponse) => boolean
  loses?: (req: IncomingMessage) => boolean
}): Promise<string> {
  const server = createServer((req, res) => {
    if (handle.answer?.(req, res)) return void req.resume()
    const { method, url, headers } = req
    const passed = request({ host: '127.0.0.1', port: scene.server.port, method, path: url, headers }, answer => {
      if (handle.loses?.(req)) return void answer.resume().on('end', () => res.destroy())
      res.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(res)
    })
    req.pipe(passed)
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

const slowDown = (res: ServerResponse) => {
  res.writeHead(503, { 'content-type': 'application/xml' })
  res.end(
    '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>',
  )
  return true
}

describeWithS3('a target in S3 that cannot be used', () => {
  it('is reported with a hint, and is published to as soon as the credentials in its file are the right ones', async () => {
    await load(app.workspace(), [{ ID: 'a' }])
    const { admin, reader } = scene.server
    const wrong = { accessKeyId: 'AKNOBODY', secretAccessKey: 'wr0ng' }
    const credentialsFile = await scene.credentials('changing', wrong)
    const target = newTarget({}, { credentialsFile })
    expect(await failureText(target)).toMatch(
      /TARGET_UNUSABLE .*InvalidAccessKeyId.*Correct the credentials in section \[default\]/,
    )
    await scene.credentials('changing', { ...admin, secretAccessKey: 'wr0ng' })
    expect(await failureText(target)).toMatch(/SignatureDoesNotMatch.*changing\.credentials/)
    await scene.credentials('changing', reader)
    expect(await failureText(target)).toMatch(
      /AccessDenied.*Allow s3:ListBucket on lake, and s3:GetObject, s3:PutObject/,
    )
    await scene.credentials('changing', admin)
    expect(await unverified(target)).toMatchObject({ kind: 'refill' })
  })

  it.each([
    ['a bucket that does not exist', { bucket: 'nowhere' }, /NoSuchBucket.*Create the bucket nowhere/],
    [
      'a port that nobody listens at',
      { endpoint: 'http://127.0.0.1:1' },
      /ECONNREFUSED.*http:\/\/127\.0\.0\.1:1 can be reached/,
    ],
    ['an unknown host', { endpoint: 'http://nowhere.invalid' }, /ENOTFOUND.*nowhere\.invalid can be reached/],
    [
      'no file of credentials',
      { credentialsFile: '/nowhere/keys' },
      /SECRET_MISSING .*\/nowhere\/keys.*cannot be read/,
    ],
    ['a section that the file does not have', { profile: 'other' }, /SECRET_MISSING .*section \[other\]/],
    [
      'no credentials at all',
      { credentialsFile: null },
      /SECRET_MISSING There are no credentials for s3:.*nor does this machine/,
    ],
    ['no file of authorities', { caFile: '/nowhere/ca.pem' }, /SECRET_MISSING .*\/nowhere\/ca\.pem/],
  ] as const)('is reported: %s', async (_, place, expected) => {
    process.env.AWS_EC2_METADATA_DISABLED = 'true'
    expect(await failureText(newTarget({}, place))).toMatch(expected)
  })

  it('takes credentials from the environment, or from the role of its container', async () => {
    const { admin } = scene.server
    const target = newTarget({}, { credentialsFile: null })
    const variables: Record<string, string> = {
      AWS_ACCESS_KEY_ID: admin.accessKeyId,
      AWS_SECRET_ACCESS_KEY: admin.secretAccessKey,
    }
    Object.assign(process.env, variables)
    expect(await publish(target)).toMatchObject({ kind: 'refill' })
    for (const name of Object.keys(variables)) delete process.env[name]
    const role = createServer((_, res) => {
      const Expiration = new Date(Date.now() + 3_600_000).toISOString()
      const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey } = admin
      res.end(JSON.stringify({ AccessKeyId, SecretAccessKey, Token: '', Expiration }))
    }).listen(0, '127.0.0.1')
    servers.push(role)
    await once(role, 'listening')
    const { port } = role.address() as { port: number }
    process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI = `http://127.0.0.1:${port}/role`
    expect(await publish(target)).toMatchObject({ kind: 'current' })
    delete process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI
  })

  it('never shows its keys: not in records of publications, in files of the data folder, or the environment of its process', async () => {
    const { admin } = scene.server
    const target = newTarget()
    const state = join(app.home, 'state')
    const entry = await patchedTarget(
      app.home,
      'spy',
      `if (step.startsWith('PUT') && step.includes('_manifest.json'))
        writeFileSync(${JSON.stringify(state)}, JSON.stringify([process.env, process.argv]))`,
    )
    await publish(target, { entry })
    expect(await failureText(newTarget({}, { bucket: 'nowhere' }))).toContain('NoSuchBucket')
    const records = JSON.stringify(await app.warehouse.writer.rows('FROM _publications'))
    expect(await readFile(state, 'utf8')).toContain('AWS_SHARED_CREDENTIALS_FILE')
    const files = (await readdir(app.home, { recursive: true, withFileTypes: true })).filter(
      entry => entry.isFile() && !entry.name.endsWith('.credentials'),
    )
    const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1')))
    expect(texts.length).toBeGreaterThan(3)
    for (const text of [records, ...texts]) expect(text.includes(admin.secretAccessKey)).toBe(false)
  })
})

describeWithS3('a publication to S3', () => {
  it('succeeds despite 503s and lost answers; a server that always answers 503 is reported', async () => {
    let requests = 0
    let lost = 0
    const endpoint = await proxy({
      answer: (_, res) => ++requests % 5 === 0 && slowDown(res),
      // The manifest is replaced, but the answer is lost.
      loses: ({ method, url }) => method === 'PUT' && url!.includes('_manifest.json') && ++lost === 1,
    })
    const target = newTarget({}, { endpoint })
    await load(app.workspace(), [{ ID: 'a', userName: 'Ann' }])
    expect(await unverified(target)).toMatchObject({ kind: 'refill' })
    expect([requests > 20, lost > 1]).toEqual([true, true])
    expect(await publish({ ...target, s3: { ...target.s3, endpoint: scene.server.endpoint } })).toMatchObject({
      kind: 'current',
    })
    const refusing = await proxy({ answer: (_, res) => slowDown(res) })
    expect(await failureText(newTarget({}, { endpoint: refusing }))).toMatch(
      /TARGET_UNUSABLE .*SlowDown.*HTTP 503, 10 attempts.*can be reached and has space/,
    )
  })
})

describeWithS3('a server with TLS', () => {
  it('is published to with its certificate verified, and not by another certificate or without TLS', async () => {
    const own = join(app.home, 'server.pem')
    await copyFile(CERTIFICATE, own)
    await scene.server.stop()
    await scene.server.start({ certificate: own })
    const endpoint = `https://127.0.0.1:${scene.server.httpsPort}`
    const target = newTarget({}, { endpoint, caFile: CERTIFICATE })
    expect(await publish(target)).toMatchObject({ kind: 'refill' })
    const refused = (place: Partial<S3Target['s3']>) => failureText({ ...target, s3: { ...target.s3, ...place } })
    expect(await refused({ caFile: null })).toMatch(
      /TARGET_UNUSABLE .*SELF_SIGNED.*name the authority of its certificate with `caFile`/,
    )
    expect(await refused({ endpoint: endpoint.replace('127.0.0.1', 'localhost') })).toMatch(
      /ERR_TLS_CERT_ALTNAME_INVALID/,
    )
    const plain = scene.server.endpoint.replace('http:', 'https:')
    expect(await refused({ endpoint: plain })).toMatch(/EPROTO.*without TLS it begins with http:/)
  })
})

describeWithS3("an owner's change of an object", () => {
  it.each(['replaced', 'removed'])('(%s) is named, and a refill writes it again', async change => {
    const place = app.workspace()
    const target = newTarget()
    await load(place, [{ ID: 'a', userName: 'Ann' }])
    await publish(target)
    const { prefix } = target.s3
    const key = (await scene.bucket.names(target)).find(name => name.includes('_objects/agents/'))!
    const path = key.startsWith(prefix) ? key : `${prefix}${key}`
    await (change === 'removed' ? scene.bucket.remove(path) : scene.bucket.put(path, 'shorter'))
    await load(place, [{ ID: 'a', userName: 'Amy' }], 1)
    expect(await failureText(target)).toMatch(/^TARGET_CHANGED .*agents.* is not as it was published\. .*--refill/)
    expect(await publish(target, { refill: true })).toMatchObject({ kind: 'refill' })
  })
})
