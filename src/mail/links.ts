/** Links in emails: to the page for people, built from the configured base and nothing from a request. */

/** Where a user sets a password with a token. */
export function passwordLink(publicUrl: string, token: string): string {
  return link(publicUrl, 'reset-password', token)
}

/** Where a new user chooses a password with a token. */
export function activationLink(publicUrl: string, token: string): string {
  return link(publicUrl, 'activate', token)
}

/** Where a user confirms a new email address with a token. */
export function emailLink(publicUrl: string, token: string): string {
  return link(publicUrl, 'confirm-email', token)
}

/** The token is in the fragment, which a browser keeps to itself: no log and no Referer has it (ASVS V14.2.1). */
function link(publicUrl: string, page: string, token: string): string {
  return `${publicUrl}/${page}#token=${encodeURIComponent(token)}`
}
