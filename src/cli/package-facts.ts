// Version and supported Node, from package.json.
import { readFileSync } from 'node:fs'

export interface PackageFacts {
  version: string
  /** The oldest supported Node: `20.19`. */
  oldestNode: string
}

/** Reads our package.json: two folders above a source file, three above a compiled one. */
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
