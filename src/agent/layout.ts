/** Where everything of a node lies, told once: for the agent, and for the set-up of a node. */
import { join } from 'node:path'

/** Of a subscription: its user has this number, and so has its group. */
export const FIRST_UID = 200_000

export const uidOf = (subscriptionId: number): number => FIRST_UID + subscriptionId
export const userOf = (subscriptionId: number): string => `ncp-s${subscriptionId}`

/** The user of the web server's workers, and its group. */
export const WEB_USER = 'ncp-web'
/** The group of users who may use SFTP. */
export const SFTP_GROUP = 'ncp-sftp'

export type NodeLayout = ReturnType<typeof nodeLayout>

/** @param root other than `/` for a tree that is only looked at: links in it lead to where a real node has them */
export function nodeLayout(root = '/') {
  const sites = join(root, 'srv/ncp')
  const run = join(root, 'run/ncp')
  const settings = join(root, 'etc/ncp')
  return {
    /** Sites, and what leads to them; one file system, since everything here moves by rename(2). root 0755 */
    sites,
    /** The name of each site and alias: a link to a directory of `generations` or `states`. root:ncp-web 0750 */
    names: join(sites, 'www'),
    /** Links that have yet to get their name: never in `names`, where a visitor's Host could find them. root 0700 */
    staging: join(sites, '.staging'),
    /** `SITE.GENERATION/`: what one generation of a site serves. root:ncp-web 0750 */
    generations: join(sites, 'gen'),
    /** `DOMAIN/`: what a release would serve, while it is asked for the health path of its site. root:ncp-web 0750 */
    candidates: join(sites, 'candidates'),
    /** `suspended/`, `disabled/` and `waiting/`: the pages of sites that show none of their own. root:ncp-web 0750 */
    states: join(sites, 'state'),
    /** Deleted sites, for some days. root 0700 */
    trash: join(sites, '.trash'),
    /** What the agent remembers, and archives that it has fetched. root 0700 */
    agent: join(sites, '.agent'),
    /** `by-name/NAME/pem` and `certs/ID/pem`: certificates with their keys. root:ncp-web 0750 */
    certificates: join(sites, 'tls'),
    /** The keys of certificates, a directory a site. root 0700 */
    certificateKeys: join(sites, '.keys'),
    /** Answers to challenges of certificate authorities. root:ncp-web 0750 */
    challenges: join(sites, 'acme'),
    /** Empty: the root of what is never served. root:ncp-web 0750 */
    empty: join(sites, 'empty'),
    /** Uploads that the web server has yet to pass on. ncp-web 0700 */
    webTemporary: join(sites, '.web'),

    /** root 0755 */
    run,
    /** `sites` again, mounted so that no link in it is followed: as the web server sees it. */
    view: join(run, 'view'),
    /** Sockets of PHP, `SITE.sock`. root 0711 */
    phpSockets: join(run, 'php'),
    /** Configurations of PHP-FPM, which reads each as the user of its subscription. root 0711 */
    phpSettings: join(run, 'fpm'),
    /** What only root may ask the web server. root 0700 */
    probe: join(run, 'probe'),
    /** Tells which generation a name leads to. */
    probeSocket: join(run, 'probe/web.sock'),
    /** Answers as sites would with a release that is not served yet. */
    candidateSocket: join(run, 'probe/candidate.sock'),
    webPid: join(run, 'web.pid'),

    /** root 0755: the panel's own settings may be here too. */
    settings,
    /** Where the panel is. root 0600 */
    enrolment: join(settings, 'node.json'),
    /** What proves this node to its panel. root 0600 */
    nodeToken: join(settings, 'node-token'),
    /** root 0700 */
    webSettings: join(settings, 'nginx'),
    webConfiguration: join(settings, 'nginx/nginx.conf'),
    /** Names the service from which set-up has taken the ports of the web. */
    takenPorts: join(settings, 'taken-ports'),
    /** Keys of those who use SFTP, a file a user. root 0711: sshd reads them as the user. */
    sshKeys: join(settings, 'ssh'),

    /** root 0711; a directory a subscription below it. */
    logs: join(root, 'var/log/ncp'),
    /** The web server's own. root:ncp-web 0750 */
    webLogs: join(root, 'var/log/ncp/web'),
  }
}

/** The directory of a subscription: the SFTP root of its user. */
export const homeOf = ({ sites }: Pick<NodeLayout, 'sites'>, subscriptionId: number): string =>
  join(sites, userOf(subscriptionId))

/** The directory of a site, whose releases are below it. */
export const siteOf = (layout: Pick<NodeLayout, 'sites'>, subscriptionId: number, siteId: number): string =>
  join(homeOf(layout, subscriptionId), 'sites', `${siteId}`)

/** The logs of a site. root, its group the subscription's 0750 */
export const logsOf = ({ logs }: Pick<NodeLayout, 'logs'>, subscriptionId: number, siteId: number): string =>
  join(logs, userOf(subscriptionId), `${siteId}`)
