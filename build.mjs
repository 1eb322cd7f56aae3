// Compiles src/, workflows/ and the benches into dist/, and puts the SQL files beside them,
// so that `../../sql` means the same from a source file and from a compiled one. The workflows are bundled besides, so
// that a Temporal worker need not do it at each start; and the command with what it imports, since most of the time of
// `convohouse status` went into finding and reading three hundred small files.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { rolldown } from 'rolldown'

const root = import.meta.dirname
const dist = join(root, 'dist')

/** What is native, or found by its place, or needed by few commands, and large. */
const NOT_BUNDLED = [/^@duckdb\/node-bindings/, /^@temporalio\//, /^apache-arrow/]

function compile() {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  // The second project has the types of `convohouse/api`, and of what it imports. `npm run typecheck` checks types.
  for (const project of ['tsconfig.build.json', 'tsconfig.api.json'])
    execFileSync(process.execPath, [tsc, '--noCheck', '-p', join(root, project)], { stdio: 'inherit' })
}

/** The packages that modules are of, as folders. */
const packagesOf = modules =>
  new Set(modules.flatMap(id => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0] ?? []))

/** Those that are bundled want their licences to go with them. */
function licencesOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find(entry => /^licen[cs]e/i.test(entry))
  return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : ''}\n`
}

/** Each in place of the compiled program, at the same depth: what it imports lies in dist/src/bundle. */
async function bundlePrograms() {
  const bundle = await rolldown({
    input: {
      'cli/main': join(root, 'src', 'cli', 'main.ts'),
      'publish/target-process': join(root, 'src', 'publish', 'target-process.ts'),
      'serve/readers/query-process': join(root, 'src', 'serve', 'readers', 'query-process.ts'),
    },
    platform: 'node',
    external: NOT_BUNDLED,
  })
  const { output } = await bundle.write({
    dir: join(dist, 'src'),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'bundle/[name].js',
    // Each start reads it all. Names stay: a stack that somebody sends us is to be read.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  })
  const packages = packagesOf(output.flatMap(chunk => chunk.moduleIds ?? []))
  writeFileSync(join(dist, 'src', 'bundle', 'LICENCES'), [...packages].sort().map(licencesOf).join('\n---\n\n'))
  chmodSync(join(dist, 'src', 'cli', 'convohouse.cjs'), 0o755)
}

/** The dashboard's front end, with hashed names, so that browsers may keep its files forever. */
async function bundleDashboard() {
  const web = join(root, 'src', 'serve', 'web')
  const bundle = await rolldown({
    input: { dashboard: join(web, 'main.tsx') },
    platform: 'browser',
    tsconfig: join(web, 'tsconfig.json'),
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  })
  const { output } = await bundle.write({
    dir: join(dist, 'web'),
    format: 'esm',
    entryFileNames: 'assets/[name]-[hash].js',
    chunkFileNames: 'assets/[name]-[hash].js',
    minify: true,
  })
  const styles = readFileSync(join(web, 'styles', 'dashboard.css'))
  const named = `assets/dashboard-${createHash('sha256').update(styles).digest('hex').slice(0, 8)}.css`
  writeFileSync(join(dist, 'web', named), styles)
  cpSync(join(web, 'icon.svg'), join(dist, 'web', 'assets', 'icon.svg'))
  const page = readFileSync(join(web, 'index.html'), 'utf8')
    .replace('{styles}', named)
    .replace('{icon}', 'assets/icon.svg')
    .replace('{script}', output.find(({ isEntry }) => isEntry).fileName)
  writeFileSync(join(dist, 'web', 'index.html'), page)
  const packages = packagesOf(output.flatMap(chunk => chunk.moduleIds ?? []))
  writeFileSync(join(dist, 'web', 'LICENCES'), [...packages].sort().map(licencesOf).join('\n---\n\n'))
}

async function bundleWorkflows() {
  const workflowsPath = join(dist, 'workflows', 'index.js')
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') })
  writeFileSync(join(dist, 'workflows', 'bundle.cjs'), code)
}

rmSync(dist, { recursive: true, force: true })
compile()
if (existsSync(join(root, 'sql'))) cpSync(join(root, 'sql'), join(dist, 'sql'), { recursive: true })
const pages = join('src', 'serve', 'pages', 'built-in')
cpSync(join(root, pages), join(dist, pages), { recursive: true })
await bundlePrograms()
await bundleDashboard()
await bundleWorkflows()
