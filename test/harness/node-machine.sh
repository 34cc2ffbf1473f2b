#!/bin/bash
# The first process of a test node: lays fresh file systems over what a node changes, then waits until its standard
# input ends, which is when the test is over or has died. Its end ends every process of the node.
# Arguments: the repository, the program bun, an empty directory outside of all that is laid over.
set -euo pipefail
repository=$1 bun=$2 scratch=$3

mount -t tmpfs -o mode=755 tmpfs "$scratch"
mkdir "$scratch/repository" "$scratch/bin"
mount --bind "$repository" "$scratch/repository"
touch "$scratch/bin/bun"
mount --bind "$bun" "$scratch/bin/bun"

for directory in etc home opt root usr var; do
  mkdir -p "$scratch/$directory/changes" "$scratch/$directory/work"
  # As below: overlay takes the mode and owner of the top layer's root.
  chmod --reference="/$directory" "$scratch/$directory/changes"
  chown --reference="/$directory" "$scratch/$directory/changes"
  mount -t overlay -o "lowerdir=/$directory,upperdir=$scratch/$directory/changes,workdir=$scratch/$directory/work" \
    overlay "/$directory"
done
for directory in run srv; do mount -t tmpfs -o mode=755 tmpfs "/$directory"; done
mkdir -m 1777 /run/lock

# Settings of the kernel are the host's, except those of the network.
mount --bind /proc/sys /proc/sys
mount -o bind,remount,ro /proc/sys
mount --bind /proc/sys/net /proc/sys/net
mount -o bind,remount,rw /proc/sys/net

# The sources where every user of the node may read them, and the program that runs them.
mkdir /opt/ncp
mount --bind "$scratch/repository" /opt/ncp
# Covered by the layers above, if the repository or bun lies below one of them.
[ -e "$repository/package.json" ] && mount --bind "$scratch/repository" "$repository"
touch /usr/local/bin/bun
mount --bind "$scratch/bin/bun" /usr/local/bin/bun
printf '#!/bin/sh\nexec /usr/local/bin/bun /opt/ncp/src/main.ts "$@"\n' >/usr/local/bin/ncp
chmod 755 /usr/local/bin/ncp

hostname node.test
ip link set lo up
# What names lead to, beside loopback.
ip address add 203.0.113.7/32 dev lo
ip address add 2001:db8::7/128 dev lo nodad

echo ready
# Reaps what loses its parent, as bash does while it waits for a child.
while read -r _; do :; done
