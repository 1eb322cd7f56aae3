#!/usr/bin/env node
// Entry of the `convohouse` command. It sizes libuv's thread pool and then loads main.ts. The size counts only before the pool's
// first use, and on Node 20 loading an ES module is a use: hence CommonJS.

// Queries hold threads for as long as they run; files, DNS and loading need others (src/warehouse/query/concurrency.ts).
process.env.UV_THREADPOOL_SIZE ??= '16'

import('./main.ts')
