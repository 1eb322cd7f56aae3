// Another release of convohouse, installed beside the one that was built: the same command with different workflows.
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../cli/cli-process.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The name under which histories record the versioned change. */
export const PATCH = 'wait-before-activities'

/** Both variants sleep before each activity: a command that no earlier history contains. */
const CHANGES = {
  /** Versioned, as every such change must be. */
  patched: `if (patched('${PATCH}')) await sleep(1)`,
  /** Unversioned: workflows in flight cannot continue under it. */
  careless: 'await sleep(1)',
}

/** The place in a bundle that lists its interceptors; the built bundle has none. */
const INTERCEPTORS = /(function importInterceptors\(\) \{\s*return \[)\s*\]/

const interceptor = (change: string): string => `{
  interceptors() {
    const { patched, sleep } = __webpack_require__('./node_modules/@temporalio/workflow/lib/index.js')
    return { outbound: [{ async scheduleActivity(input, next) { ${change}; return next(input) } }] }
  },
}`

export interface Release {
  /** Path of the release's command. */
  main: string
  workflowBundle: { code: string }
}

/** Installs a release with that change of the workflows; it is removed when the test ends. */
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
