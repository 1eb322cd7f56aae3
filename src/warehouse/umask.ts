/**
 * Closes every file that this process creates from now on to other users: the warehouse, like the landing, holds personal
 * data. DuckDB sets no modes and creates its log and spill files at any later time, so the process's umask stays as it is set here.
 * An existing file keeps its mode, which its owner may have set on purpose.
 */
export function restrictUmask(): void {
  if (process.platform !== 'win32') process.umask(0o077)
}
