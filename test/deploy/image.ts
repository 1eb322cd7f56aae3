// Builds the image without Docker: creates its files in a folder as the Dockerfile specifies, and runs the commands of
// its services there.
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { copiesOf, ROOT, readStages, type Stage } from './dockerfile.ts'

const stageNamed = (name: string): Stage => readStages().find(stage => stage.name === name)!

async function copyFrom(folder: string, stage: Stage, into: string): Promise<void> {
  for (const { sources, target } of copiesOf(stage).filter(({ from }) => from === null)) {
    for (const source of sources) {
      const place = target.endsWith('/') ? join(into, target, source) : join(into, target)
      await cp(join(folder, source), place, { recursive: true })
    }
  }
}

interface Locked {
  packages: Record<string, { dev?: boolean; devOptional?: boolean }>
}

/** Returns the packages that `npm ci --omit=dev` installs, according to the lock file. */
async function productionPackages(): Promise<string[]> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as Locked
  return Object.entries(packages)
    .filter(([path, { dev, devOptional }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !dev && !devOptional)
    .map(([path]) => path)
}

/** Runs the build stage on only the files that the Dockerfile copies, with all packages available. */
export async function buildStage(folder: string): Promise<void> {
  await copyFrom(ROOT, stageNamed('node'), folder)
  await copyFrom(ROOT, stageNamed('build'), folder)
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await promisify(execFile)(process.execPath, ['build.mjs'], { cwd: folder })
}

/** Environment of processes in the image's folder: linked packages resolve dependencies in this folder, not at the link's target. */
export const IMAGE_ENV = { NODE_OPTIONS: '--preserve-symlinks', NODE_ENV: 'production' }

/** Returns the image's `/app`: the build and the production packages. */
export async function lastStage(built: string, app: string): Promise<void> {
  const last = readStages().at(-1)!
  await mkdir(app, { recursive: true })
  await copyFrom(ROOT, last, app)
  for (const { sources, target } of copiesOf(last).filter(({ from }) => from === 'build')) {
    for (const source of sources) await cp(source.replace(/^\/build/, built), join(app, target), { recursive: true })
  }
  for (const path of await productionPackages()) {
    await mkdir(dirname(join(app, path)), { recursive: true })
    await symlink(join(ROOT, path), join(app, path))
  }
}
