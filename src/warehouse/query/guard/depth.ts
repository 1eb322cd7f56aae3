// Refuses arguments that crash the process. DuckDB follows the path of a JSON function, the structure of `json_transform`, JSON that becomes
// a VARIANT, and the parts of a name by unbounded recursion: 100,000 levels, which `repeat` makes from a few characters, overflow the stack
// (seen with 1.5.5; test/fuzz finds such cases). So paths and structures must be literals, whose depth is checked here. Paths from columns
// are harmless, because DuckDB accepts no wildcards in them. VARIANTs must be made of literals only.
import { CAST_TO_VARIANT, type Call, type TreeNode } from './tree.ts'

/** Functions whose second and later arguments determine the depth of recursion. */
const STEERED = /^(json_(extract|transform|exists|type|value|keys|array_length|contains|each|tree|pretty)|from_json|->)/

/** Functions that take the name of another function. */
const BY_NAME = /^(list|array)_(aggr|aggregate)$|^aggregate$/

const DEEPEST = 100

/** True for a column name with too many parts. */
export const isNameTooLong = (parts: number): boolean => parts > DEEPEST

/** The function that a call names in an argument; undefined if it names none, null if the name is not a literal. */
export function functionGiven({ name, arguments: [given] }: Call): string | null | undefined {
  if (!BY_NAME.test(name.toLowerCase()) || given === undefined) return undefined
  return literalText(given)
}

/** True where an argument of the call may be nested too deeply. */
export function mayBeTooDeep({ name, arguments: given }: Call): boolean {
  if (name === CAST_TO_VARIANT) return given.some(isNotLiteral)
  return STEERED.test(name.toLowerCase()) && given.some(isTooDeep)
}

function isTooDeep(node: TreeNode): boolean {
  const { texts, columns, calls } = contentsOf(node)
  // A value derived from a column is not constant, and DuckDB accepts only constants as wildcard paths and structures.
  return (calls && !columns) || texts.some(text => levelsOf(text) > DEEPEST)
}

function isNotLiteral(node: TreeNode): boolean {
  const { texts, columns, calls } = contentsOf(node)
  return columns || calls || texts.some(text => levelsOf(text) > DEEPEST)
}

/** Calls that only combine their arguments. */
const MAKES = /^(list_value|struct_pack|row|map|[-+*/%])$/

/** The texts in a node at any depth, and whether it has columns or calls that may produce text. */
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

/** Upper bound of the levels of a path, a structure or a type: nested brackets, plus wildcards and lists of lists in sequence. */
function levelsOf(text: string): number {
  let [depth, deepest] = [0, 0]
  for (const character of text) {
    if ('[{('.includes(character)) deepest = Math.max(deepest, ++depth)
    else if (']})'.includes(character)) depth -= 1
  }
  return Math.max(deepest, text.split('*').length - 1, text.split('[]').length - 1)
}
