/** Files that the compiler puts into the binary: SQL and units as text, everything else as a path to read from. */
declare module '*.sql' {
  const text: string
  export default text
}
declare module '*.service' {
  const text: string
  export default text
}
declare module '*.sysusers' {
  const text: string
  export default text
}
declare module '*.css' {
  const path: string
  export default path
}
declare module '*.png' {
  const path: string
  export default path
}
declare module '*/swagger-ui-bundle.js' {
  const path: string
  export default path
}
declare module '@zxcvbn-ts/language-common/src/passwords.json' {
  const path: string
  export default path
}
