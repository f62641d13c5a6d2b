#!/bin/sh
# Runs after the package was removed. Data in /var/lib/ragd stays.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
