// Disks of 64 MB: temporary file systems in a mount namespace, which needs no privileges and disappears with the
// process that holds it.
import { spawn, spawnSync } from 'node:child_process'
import { cp, mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../../cli/cli-process.ts'

const UNSHARE = ['--user', '--map-root-user', '--mount']

/** Returns the reason why this machine cannot create such disks; null if it can. */
export function whyNoDisk(): string | null {
  const tried = spawnSync('unshare', [...UNSHARE, 'mount', '-t', 'tmpfs', 'none', '/mnt'], { encoding: 'utf8' })
  return tried.status === 0 ? null : `no mount namespace here: ${tried.error?.message ?? tried.stderr.trim()}`
}

export interface SmallDisk {
  /** Command prefix that starts a command inside the namespace of the disks. */
  through: readonly string[]
  /** Returns the same path for a process outside of the namespace. */
  outside(path: string): string
  /** Fills the disk of that folder except for `but` bytes. */
  fill(folder: string, but: number): Promise<void>
  /** Uses up the inodes of the disk of that folder except for `but`. */
  exhaust(folder: string, but: number): Promise<void>
  /** Removes the files with which `fill` and `exhaust` filled the disk. */
  free(folder: string): Promise<void>
  /** Makes the disk of that folder read-only, or writable again. */
  protect(folder: string, readOnly: boolean): void
  /** Copies the folder's files from outside the namespace to its disk. */
  copyIn(folder: string): Promise<void>
  /** Copies the folder to a place outside the namespace. */
  copyOut(folder: string): Promise<string>
}

/** Returns a shell script that mounts a disk at each folder and runs until its standard input ends. */
const holderScript = (folders: readonly string[]): string =>
  [
    ...folders.map(folder => `mkdir -p "${folder}" && mount -t tmpfs -o size=64m,nr_inodes=1024 none "${folder}"`),
    'echo ready',
    'exec cat',
  ].join(' && ')

/** Creates the folders and mounts a disk of 64 MB at each; parents first. */
export async function smallDisks(folders: readonly string[]): Promise<SmallDisk> {
  const stdio = ['pipe', 'pipe', 'inherit'] as const
  const holder = spawn('unshare', [...UNSHARE, 'sh', '-c', holderScript(folders)], { stdio: [...stdio] })
  onTestFinished(() => {
    holder.kill('SIGKILL')
  })
  await new Promise<void>((resolve, reject) => {
    holder.stdout.once('data', () => resolve())
    holder.once('exit', code => reject(new Error(`the disks could not be mounted (${code})`)))
  })
  const through = ['nsenter', '--target', `${holder.pid}`, '--user', '--mount', '--preserve-credentials']
  const outside = (path: string) => `/proc/${holder.pid}/root${path}`
  const ballast = (folder: string) => outside(join(folder, 'ballast'))
  return {
    through,
    outside,
    async fill(folder, but) {
      const { bavail, bsize } = await statfs(outside(folder))
      const filled = writeFile(ballast(folder), Buffer.alloc(Math.max(0, bavail * bsize - but)))
      // The process under test also writes, so the disk may be full before the last byte of this file is written.
      await filled.catch((cause: NodeJS.ErrnoException) => {
        if (cause.code !== 'ENOSPC') throw cause
      })
    },
    async exhaust(folder, but) {
      await mkdir(`${ballast(folder)}-files`)
      const { ffree } = await statfs(outside(folder))
      for (let n = but; n < ffree; n++) await writeFile(join(`${ballast(folder)}-files`, `${n}`), '')
    },
    async free(folder) {
      for (const path of [ballast(folder), `${ballast(folder)}-files`]) await rm(path, { recursive: true, force: true })
    },
    protect(folder, readOnly) {
      const remount = ['mount', '-o', `remount,${readOnly ? 'ro' : 'rw'}`, folder]
      const { status, stderr } = spawnSync(through[0]!, [...through.slice(1), ...remount])
      if (status !== 0) throw new Error(String(stderr))
    },
    copyIn: folder => cp(folder, outside(folder), { recursive: true }),
    async copyOut(folder) {
      const copy = join(await temporaryFolder(), 'copy')
      const filter = (path: string) => !path.endsWith('.sock')
      await cp(outside(folder), copy, { recursive: true, filter })
      return copy
    },
  }
}
