#!/bin/sh
# Prepares a release: CHANGELOG.md's section, the version, and all that is handed on.
#
#   packaging/release.sh VERSION
#
# Commits, tags and publishes nothing: dist/PUBLISH.md has the commands that do. The
# working tree must have no changes, so that what is built is what will be tagged.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

new=${1:-}
case $new in
    *[!0-9.]* | *..* | .* | *. | '') fail "which version? Such as: make release VERSION=1.2.3" ;;
    *.*.*.*) fail "$new has more than three numbers" ;;
    *.*.*) ;;
    *) fail "$new has fewer than three numbers" ;;
esac
cd "$root"
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed"
[ -z "$(git tag --list "v$new")" ] || fail "there is a tag v$new already"
# Unless all is made, nothing stays changed.
trap 'git checkout --quiet -- Cargo.toml Cargo.lock CHANGELOG.md' EXIT
python3 packaging/new_version.py "$new" "$(date -u +%F)"
# It is another one from now on, and so is the time of all files.
unset SOURCE_DATE_EPOCH
packaging/dist.sh
python3 packaging/publish.py "$new" >dist/PUBLISH.md
awk -v "begin=## $new " 'index($0, begin) == 1 { on = 1; next } /^## / { on = 0 } on' \
    CHANGELOG.md >dist/NOTES.md
[ -s dist/NOTES.md ] || fail "CHANGELOG.md has no section of $new"
trap - EXIT
cat dist/PUBLISH.md
