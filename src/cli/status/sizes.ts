// Bytes on disk.
import { fileBytes } from '../../files/stored-bytes.ts'

/** Bytes of a warehouse: its file, and the log beside it, which may hold all of a first load until the warehouse is closed. */
export const warehouseSize = async (file: string): Promise<number> =>
  (await fileBytes(file)) + (await fileBytes(`${file}.wal`))
