/** Icons, drawn as lines; each stands beside a text or in a button that has a name. */

const shapes = {
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7 8c0-3.5 3-6 7-6s7 2.5 7 6',
  add: 'M12 5v14M5 12h14',
  check: 'm5 13 4 4L19 7',
  close: 'm6 6 12 12M18 6 6 18',
  copy: 'M9 9h11v11H9zM5 15V4h11',
  external: 'M14 5h5v5M19 5l-8 8M17 14v5H5V7h5',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12Zm9.5 2.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z',
  keys: 'M8 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm4-4h9m-4 0v3m4-3v3',
  log: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  logOut: 'M10 4H5v16h5M15 8l4 4-4 4M19 12H9',
  menu: 'M4 7h16M4 12h16M4 17h16',
  node: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M14 4v6M6 14v6',
  sites: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18ZM3 12h18M12 3c5 5 5 13 0 18-5-5-5-13 0-18Z',
  subscriptions: 'm12 3 8 4.5v9L12 21l-8-4.5v-9L12 3Zm0 9 8-4.5M12 12v9M12 12 4 7.5',
  upload: 'M12 16V5m0 0L7 10m5-5 5 5M5 19h14',
  users: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7 9c0-3.5 3-6 7-6s7 2.5 7 6M17 4a4 4 0 0 1 0 7m2 4c2 .8 3 2.6 3 5',
  warning: 'M12 4 2.5 20h19L12 4Zm0 6v4m0 3h.01',
}

export type IconName = keyof typeof shapes

export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  )
}
