// How the user's shell starts this program. The code names it `convohouse`; output for people names what works here.
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { searchPath } from '../../config.ts'

const NAME = 'convohouse'

const isThis = (path: string): boolean => existsSync(path) && realpathSync(path) === realpathSync(process.argv[1]!)

const withParents = (folder: string): string[] =>
  dirname(folder) === folder ? [folder] : [folder, ...withParents(dirname(folder))]

/** Returns the name if it is on the PATH; `npx` with it in a project that has it; else Node with the program's path, quoted for JSON, too. */
function nameHere(): string {
  // npm adds its own folders to the PATH of what it runs, which the user's shell does not have.
  const folders = searchPath().filter(folder => !folder.includes('node_modules'))
  if (folders.some(folder => isThis(join(folder, NAME)))) return NAME
  const installed = [join('node_modules', '.bin', NAME), join('dist', 'src', 'cli', 'convohouse.cjs')]
  const isInProject = withParents(process.cwd()).some(folder => installed.some(path => isThis(join(folder, path))))
  const program = process.argv[1]!.replaceAll(sep, '/')
  if (isInProject || program.includes('/_npx/')) return `npx ${NAME}`
  return /^[\w./:-]+$/.test(program) ? `node ${program}` : /['"\\]/.test(program) ? NAME : `node '${program}'`
}

let mention: RegExp | undefined

/** Sets the commands whose mention `asRunHere` rewrites. */
export const nameCommands = (commands: readonly string[]): void => {
  mention = new RegExp(`(?<![\\w/.-])${NAME}(?= (?:${commands.join('|')}|COMMAND|\\[options|--help)\\b)`, 'g')
}

/** Returns the text with commands as they work here. */
export const asRunHere = (text: string): string =>
  mention && text.search(mention) >= 0 ? text.replaceAll(mention, nameHere()) : text
