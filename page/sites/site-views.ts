/** The views of one site, in a script of their own. */
export { NewSite } from './new-site.tsx'
export { Site } from './site.tsx'
