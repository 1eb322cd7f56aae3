// Compiles src/, workflows/ and the benches into dist/, and puts the SQL files beside them,
// so that `../../sql` means the same from a source file and from a compiled one. The workflows are bundled besides, so
// that a Temporal worker need not do it at each start.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'

const root = import.meta.dirname
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

rmSync(join(root, 'dist'), { recursive: true, force: true })
execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' })
if (existsSync(join(root, 'sql'))) cpSync(join(root, 'sql'), join(root, 'dist', 'sql'), { recursive: true })
const cli = join(root, 'dist', 'src', 'cli', 'main.js')
if (existsSync(cli)) chmodSync(cli, 0o755)

const workflowsPath = join(root, 'dist', 'workflows', 'index.js')
const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })
writeFileSync(join(root, 'dist', 'workflows', 'bundle.cjs'), code)
