#!/bin/sh
# Install evenhand with what the service needs into a new virtual environment, in the versions of requirements.lock.
# Run it in the folder of the repository:
#   sh deploy/install.sh /opt/evenhand
set -eu
place=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$place"
sed -e '/^ *--hash=/d' -e 's/ *\\$//' requirements.lock > "$work/versions.txt"
"$place/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" .
"$place/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --constraint "$work/versions.txt" \
    "$(echo "$work"/evenhand-*.whl)[service,postgresql]"
