// Gives each test run a folder for the corpus template, which is built when a test first needs it.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the corpus template. */
    corpus: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-corpus-'))
  project.provide('corpus', folder)
  return () => rm(folder, { recursive: true, force: true })
}
