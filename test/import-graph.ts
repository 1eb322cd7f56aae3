// Finds every import of the sources: static, dynamic and type-only.
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, relative, sep } from 'node:path'

export const root = join(import.meta.dirname, '..')

export interface SourceFile {
  /** Path from the root, with slashes: `src/core/time.ts`. */
  path: string
  text: string
  /** Imported files of this project, by path. */
  files: string[]
  /** Packages and built-ins that it imports, as written. */
  packages: string[]
}

/** Removes comments, so that `import(` in one does not count; matches strings to keep them. */
export const withoutComments = (text: string): string => text.replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')

const STATIC = /^(?:import|export)\b[^;'"`=]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'/gm
const DYNAMIC = /\bimport\(\s*(?:'([^']+)'|([^)]*))/g

/** Returns the specifiers that a source text imports; for a dynamic import of an expression, its source text. */
export function importsOf(text: string): string[] {
  const code = withoutComments(text)
  return [...code.matchAll(STATIC), ...code.matchAll(DYNAMIC)].map(match => match[1] ?? match[2] ?? '')
}

export function sourceFile(path: string, text: string): SourceFile {
  const specifiers = importsOf(text)
  const own = specifiers.filter(specifier => specifier.startsWith('.'))
  return {
    path,
    text,
    files: own.map(specifier => posix.join(posix.dirname(path), specifier)),
    packages: specifiers.filter(specifier => !specifier.startsWith('.')),
  }
}

/** Returns every TypeScript file below a folder of the root. */
export function sourcesBelow(folder: string): SourceFile[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
  return entries
    .filter(entry => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map(entry => join(entry.parentPath, entry.name))
    .map(file => sourceFile(relative(root, file).split(sep).join('/'), readFileSync(file, 'utf8')))
}

/** Returns the first cycle of imports; undefined if there is none. */
export function findCycle(sources: readonly SourceFile[]): string[] | undefined {
  const byPath = new Map(sources.map(source => [source.path, source]))
  const cleared = new Set<string>()
  const walk = (path: string, chain: string[]): string[] | undefined => {
    if (chain.includes(path)) return [...chain.slice(chain.indexOf(path)), path]
    if (cleared.has(path)) return undefined
    for (const next of byPath.get(path)?.files ?? []) {
      const found = walk(next, [...chain, path])
      if (found) return found
    }
    cleared.add(path)
    return undefined
  }
  for (const { path } of sources) {
    const found = walk(path, [])
    if (found) return found
  }
  return undefined
}
