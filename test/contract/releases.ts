// Another release of convohouse, installed beside the one that was built here: the same command with other workflows.
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../cli/cli-process.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The name of the change, as histories note it. */
export const PATCH = 'wait-before-activities'

/** Both wait a moment before each activity, which is a command that no history of before has. */
const CHANGES = {
  /** Versioned, as every such change has to be. */
  patched: `if (patched('${PATCH}')) await sleep(1)`,
  /** Made as it must not be made: workflows in flight cannot go on under it. */
  careless: 'await sleep(1)',
}

/** Where a bundle lists its interceptors: the built one has none. */
const INTERCEPTORS = /(function importInterceptors\(\) \{\s*return \[)\s*\]/

const interceptor = (change: string): string => `{
  interceptors() {
    const { patched, sleep } = __webpack_require__('./node_modules/@temporalio/workflow/lib/index.js')
    return { outbound: [{ async scheduleActivity(input, next) { ${change}; return next(input) } }] }
  },
}`

export interface Release {
  /** Its command. */
  main: string
  workflowBundle: { code: string }
}

/** Installs the release with that change of the workflows. It is gone when the test is over. */
export async function installRelease(change: keyof typeof CHANGES): Promise<Release> {
  const folder = await temporaryFolder()
  await cp(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true })
  await cp(join(ROOT, 'package.json'), join(folder, 'package.json'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const bundle = join(folder, 'dist/workflows/bundle.cjs')
  const built = await readFile(bundle, 'utf8')
  if (!INTERCEPTORS.test(built)) throw new Error('the bundle lists its interceptors elsewhere')
  const code = built.replace(INTERCEPTORS, (_, head: string) => `${head}${interceptor(CHANGES[change])}]`)
  await writeFile(bundle, code)
  return { main: join(folder, 'dist/src/cli/convohouse.cjs'), workflowBundle: { code } }
}
