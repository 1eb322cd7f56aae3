// The warehouse holds people's conversations, like the landing: only its owner can read it.

/**
 * Has every file that this process makes from now on closed to others. DuckDB knows no modes, and makes its log and what it
 * spills at any later time, so the process's mask stays as it is set here. A file that is there keeps its mode: who
 * opened it to others meant it.
 */
export function restrictUmask(): void {
  if (process.platform !== 'win32') process.umask(0o077)
}
