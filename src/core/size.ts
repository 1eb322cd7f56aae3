// Sizes as DuckDB and the configuration write them.

const UNITS: Record<string, number> = {
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** Bytes of `1GB` or `512 MiB`. */
export function sizeOf(text: string): number {
  const [, number = '0', unit = ''] = /^([\d.]+)\s*([a-z]+)$/i.exec(text.trim()) ?? []
  return Number(number) * (UNITS[unit.toLowerCase()] ?? 1)
}
