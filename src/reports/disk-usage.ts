// Bytes on disk of the warehouse.
import { fileBytes } from '../files/stored-bytes.ts'

/** Bytes of a warehouse: its file and the write-ahead log, which may hold all of a first load until the warehouse is closed. */
export const warehouseSize = async (file: string): Promise<number> =>
  (await fileBytes(file)) + (await fileBytes(`${file}.wal`))
