// Names for columns, where each may be given once: keys of a JSON object, columns of Arrow and Parquet.

/** `a, a, a_1` as `a, a_2, a_1`: every name once, whatever its case, and the first of each as it is. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names.map(name => name.toLowerCase()))
  const given = new Set<string>()
  return names.map(name => {
    let unique = name
    for (let count = 1; given.has(unique.toLowerCase()); count++) {
      const next = `${name}_${count}`
      if (!taken.has(next.toLowerCase())) unique = next
    }
    given.add(unique.toLowerCase())
    return unique
  })
}
