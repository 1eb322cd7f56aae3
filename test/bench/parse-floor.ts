// Measures a lower bound for loading: only decodes and parses page bodies that are in memory. Prints the seconds.
// Usage: node parse-floor.js FOLDER-OF-BODIES
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { seconds } from './measure.ts'

const folder = process.argv[2]!
const bodies = readdirSync(folder).map(name => readFileSync(join(folder, name)))

const taken = await seconds(() => {
  const decoder = new TextDecoder()
  for (const body of bodies) JSON.parse(decoder.decode(body))
})
console.log(taken)
