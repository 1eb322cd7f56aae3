import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const MODULE = join(import.meta.dirname, '..', '..', 'dist', 'src', 'cli', 'wasm-tiers.js')

/** (func (export "f") (param i32) (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))): counts down. */
const COUNT_DOWN = [
  [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 1, 127, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0],
  [10, 16, 1, 14, 0, 3, 64, 32, 0, 65, 1, 107, 34, 0, 13, 0, 11, 11],
].flat()

/** With what V8 compiles a function of WebAssembly that is busy for a moment, in a process that did `before`. */
async function compilers(before: string): Promise<string[]> {
  const script = `
    import { setTimeout as sleep } from 'node:timers/promises'
    ${before}
    const { f } = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(${JSON.stringify(COUNT_DOWN)}))).exports
    for (let round = 0; round < 40; round++) f(100_000)
    await sleep(200)`
  const { stdout } = await run(process.execPath, [
    '--trace-wasm-compilation-times',
    '--input-type=module',
    '-e',
    script,
  ])
  return [...stdout.matchAll(/using (\w+)/g)].map(([, compiler]) => compiler!)
}

it('WebAssembly that is busy for a moment is optimized, and is not where that is put off', async () => {
  expect(await compilers('')).toEqual(['Liftoff', 'TurboFan'])
  const putOff = `(await import(${JSON.stringify(MODULE)})).optimizeWasmLate()`
  expect(await compilers(putOff)).toEqual(['Liftoff'])
})
