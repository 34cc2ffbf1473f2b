/** The changelog of a Debian package, in Debian's form (Debian policy 4.4). */

/** @param time seconds since the epoch, of the release */
export function debianChangelog(release: { name: string; version: string; maintainer: string; time: number }): string {
  const { name, version, maintainer, time } = release
  // RFC 5322, with a numeric zone: "Wed, 02 Dec 2026 18:00:00 +0000".
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000')
  return `${name} (${version}) stable; urgency=medium

  * Release ${version}. /usr/share/doc/${name}/CHANGELOG.md.gz lists what changed.

 -- ${maintainer}  ${date}
`
}
