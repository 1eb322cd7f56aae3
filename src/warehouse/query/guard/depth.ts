// Arguments that end the process. DuckDB follows the path of a JSON function, the structure of `json_transform`, JSON that becomes a VARIANT
// and the parts of a name by recursion, without a bound: one with 100,000 levels, which `repeat` makes of a few characters, overflows the
// stack (seen with 1.5.5; test/fuzz finds such). So paths and structures are written as literals, and looked at here; where they come of a
// column, DuckDB itself refuses what recurses. VARIANTs are made of literals alone.
import { CAST_TO_VARIANT, type Call, type TreeNode } from './tree.ts'

/** Functions whose arguments behind the first one say how deep they go. */
const STEERED = /^(json_(extract|transform|exists|type|value|keys|array_length|contains|each|tree|pretty)|from_json|->)/

/** Functions that are given another one's name. */
const BY_NAME = /^(list|array)_(aggr|aggregate)$|^aggregate$/

const DEEPEST = 100

/** True for a name of a column that has too many parts. */
export const isNameTooLong = (parts: number): boolean => parts > DEEPEST

/** The name of a function that is given by name, or undefined; null where it is not a literal. */
export function functionGiven({ name, arguments: [given] }: Call): string | null | undefined {
  if (!BY_NAME.test(name.toLowerCase()) || given === undefined) return undefined
  return literalText(given)
}

/** True where a call is given something that may be too deep. */
export function mayBeTooDeep({ name, arguments: given }: Call): boolean {
  if (name === CAST_TO_VARIANT) return given.some(isNotLiteral)
  return STEERED.test(name.toLowerCase()) && given.some(isTooDeep)
}

function isTooDeep(node: TreeNode): boolean {
  const { texts, columns, calls } = contentsOf(node)
  // What is made of a column is no constant, and DuckDB takes neither a wildcard nor a structure of it.
  return (calls && !columns) || texts.some(text => levelsOf(text) > DEEPEST)
}

function isNotLiteral(node: TreeNode): boolean {
  const { texts, columns, calls } = contentsOf(node)
  return columns || calls || texts.some(text => levelsOf(text) > DEEPEST)
}

/** Calls that only put together what they are given. */
const MAKES = /^(list_value|struct_pack|row|map|[-+*/%])$/

/** Texts in it at any depth, and whether there are columns, and calls that may make text. */
function contentsOf(node: TreeNode): { texts: string[]; columns: boolean; calls: boolean } {
  const found = { texts: [] as string[], columns: false, calls: false }
  const left: unknown[] = [node]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const { class: kind, function_name: name } = next as TreeNode
    if (kind === 'COLUMN_REF' || kind === 'SUBQUERY') found.columns = true
    if (kind === 'FUNCTION' && !MAKES.test(String(name))) found.calls = true
    const text = literalText(next as TreeNode)
    if (text !== null) found.texts.push(text)
    for (const value of Object.values(next)) left.push(value)
  }
  return found
}

function literalText(node: TreeNode): string | null {
  const { value } = (node.class === 'CONSTANT' ? node.value : {}) as { value?: unknown }
  return typeof value === 'string' ? value : null
}

/** Levels that a path, a structure or a type may have: brackets within each other, wildcards and lists of lists one after the other. */
export function levelsOf(text: string): number {
  let [depth, deepest] = [0, 0]
  for (const character of text) {
    if ('[{('.includes(character)) deepest = Math.max(deepest, ++depth)
    else if (']})'.includes(character)) depth -= 1
  }
  return Math.max(deepest, text.split('*').length - 1, text.split('[]').length - 1)
}
