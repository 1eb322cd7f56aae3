#!/usr/bin/env node
// Entry of the `convohouse` command: sets the size of libuv's thread pool, then loads main.ts. libuv reads the size at the pool's first
// use, and on Node 20 loading an ES module already uses the pool, so this file is CommonJS.

// A query occupies a thread for as long as it runs, and four run at once; files, DNS and loading need other threads
// (src/warehouse/query/concurrency.ts).
if (!(Number(process.env.UV_THREADPOOL_SIZE) > 16)) process.env.UV_THREADPOOL_SIZE = '16'

import('./main.ts')
