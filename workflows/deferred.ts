// A promise that is resolved from outside. `Promise.withResolvers` needs Node 22.
export interface Deferred {
  promise: Promise<void>
  resolve: () => void
}

export function newDeferred(): Deferred {
  let resolve = () => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve }
}
