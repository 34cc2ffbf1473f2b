/** Pages in place of a site: small, without scripts, and without anything from another address. */

export const PAGE_STYLE = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:20vh auto 0;padding:0 1.5rem;overflow-wrap:anywhere}h1{font-size:1.5rem}`

export type SitePage = { title: string; text: string }

export const suspendedPage: SitePage = {
  title: 'Site suspended',
  text: 'The hosting provider has suspended this site. If it is yours, ask the provider for the reason.',
}
export const disabledPage: SitePage = {
  title: 'Site switched off',
  text: 'The owner of this site has switched it off for now.',
}
/** What a new site shows. @param name HTML */
export const waitingPage = (name: string): SitePage => ({
  title: 'This site waits for its first deployment',
  text: `${name} is set up and will show its pages as soon as they are deployed.`,
})

/** @returns HTML */
export const htmlOf = ({ title, text }: SitePage): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${PAGE_STYLE}</style>
<h1>${title}</h1>
<p>${text}</p>
</html>
`
