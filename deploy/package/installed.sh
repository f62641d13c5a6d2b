#!/bin/sh
# Runs after the package was installed or upgraded.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
  systemd-sysusers ragd.conf
elif ! getent passwd ragd >/dev/null; then
  useradd --system --home-dir /var/lib/ragd --shell /usr/sbin/nologin ragd
fi
chgrp ragd /etc/ragd /etc/ragd/ragd.conf
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart ragd.service
fi
