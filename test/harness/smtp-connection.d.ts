/** The part of smtp-server that its types leave out. */
declare module 'smtp-server/lib/smtp-connection.js' {
  export class SMTPConnection {
    init(): void
    connectionReady(): void
    /** @param ready called once the connection is read from */
    _setListeners(ready: () => void): void
  }
}
