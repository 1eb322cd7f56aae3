// How soon V8 optimizes WebAssembly. undici reads answers with a parser that is one large function of it. After a few tens of answers V8
// compiles that function anew: 120 ms of a processor, a fifth of a short sync, and 40 MB for a moment. A vendor who gives 1,500 answers an
// hour never pays that back; whoever gets many thousands from one process has it optimized all the same.
import { setFlagsFromString } from 'node:v8'

/** By V8's measure, roughly bytes of code that were run in a function. V8 itself takes 1.8 million at Node 20, and 13 later on. */
const BUDGET = 1_000_000_000

export const WASM_LATE = `--wasm-tiering-budget=${BUDGET}`

/** For what is compiled from now on, in this process. */
export const optimizeWasmLate = (): void => setFlagsFromString(WASM_LATE)
