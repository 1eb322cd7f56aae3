// What our package.json says.
import { readFileSync } from 'node:fs'

export interface PackageFacts {
  version: string
  /** The oldest Node that it runs on: `20.19`. */
  oldestNode: string
}

/** Of the nearest package.json that is ours: a source file has it two folders above, a compiled one three. */
export function packageFacts(): PackageFacts {
  for (const above of ['../../', '../../../']) {
    try {
      const text = readFileSync(new URL(`${above}package.json`, import.meta.url), 'utf8')
      const { version, engines } = JSON.parse(text) as { version: string; engines: { node: string } }
      return { version, oldestNode: engines.node.replace(/^>=/, '') }
    } catch {}
  }
  return { version: 'unknown', oldestNode: '0' }
}
