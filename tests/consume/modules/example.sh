#!/bin/sh
# example.sh SERVER CLIENT: runs both, and says whether the client was greeted.
set -eu
folder=$(mktemp -d)
"$1" "unix:$folder/socket" >"$folder/server" 2>&1 &
server=$!
trap 'kill $server; rm -r "$folder"' EXIT
until test -S "$folder/socket"; do
  kill -0 $server
  sleep 0.1
done
greetings=$("$2" "unix:$folder/socket" Ada Grace)
echo "$greetings"
test "$greetings" = "Hello, Ada
Hello, Grace"
