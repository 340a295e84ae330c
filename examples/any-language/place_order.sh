#!/bin/sh
# Runs place_order.sql with FreeTDS (Debian: freetds-bin), as a shell script or a cron job may do.
#   DB_HOST=db1 DB_PORT=1433 DB_USER=shop_app DB_PASSWORD=... DB_NAME=shop ./place_order.sh
# bsqldb ends with a status other than 0 when the server answers with an error.
set -eu
dir=$(dirname "$0")
conf=$(mktemp)
trap 'rm -f "$conf"' EXIT
printf '[shop]\nhost = %s\nport = %s\ntds version = 7.4\nclient charset = UTF-8\n' "$DB_HOST" "$DB_PORT" >"$conf"
FREETDSCONF=$conf bsqldb -S shop -U "$DB_USER" -P "$DB_PASSWORD" -D "$DB_NAME" -i "$dir/place_order.sql"
