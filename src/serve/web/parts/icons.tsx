// Icons of the navigation, drawn on a grid of 24 with lines of 1.7.
const PATHS: Readonly<Record<string, string>> = {
  grid: 'M4 4h7v7H4zM13 4h7v4h-7zM13 11h7v9h-7zM4 14h7v6H4z',
  star: 'm12 4 2.4 5 5.6.7-4.1 3.8 1.1 5.5-5-2.8L7 19l1.1-5.5L4 9.700l5.600-.7z',
  clock: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4.500l3 2',
  people:
    'M9 11a3.200 3.200 0 1 0 0-6.400A3.200 3.200 0 0 0 9 11zM3.500 19c.5-3.200 2.700-5 5.500-5s5 1.800 5.500 5M16 5.200a3 3 0 0 1 0 5.600M17 14.300c1.900.7 3.100 2.300 3.500 4.700',
  coins:
    'M9 12.500c3 0 5-1.300 5-3.200S12 6 9 6 4 7.400 4 9.300s2 3.200 5 3.200zM4 9.300v4.900c0 1.900 2 3.300 5 3.300M14 9.500v2M15 19c3 0 5-1.300 5-3.100 0-1.900-2-3.200-5-3.200s-5 1.300-5 3.200c0 1.800 2 3.100 5 3.100z',
  funnel: 'M4 5h16l-6.200 7.300v5.200L10.200 20v-7.700z',
  tag: 'M4 11.500V4.500h7l8.500 8.500-7 7zM8 8.500h.01',
  chat: 'M4 5.500h16v10.500H11l-4.500 3.800V16H4z',
  code: 'm8.500 8-4 4 4 4M15.500 8l4 4-4 4M13.500 5.500l-3 13',
  pulse: 'M3.500 12.500h4l2.500-7 4 13 2.500-6h4',
  page: 'M6 4h8l4 4v12H6zM14 4v4h4',
  menu: 'M5 7h14M5 12h14M5 17h14',
  dots: 'M6 12h.01M12 12h.01M18 12h.01',
  close: 'm6 6 12 12M18 6 6 18',
  filter: 'M4 6h16M7 12h10M10 18h4',
  down: 'm7 10 5 5 5-5',
}

export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name] ?? PATHS.page!} />
    </svg>
  )
}
