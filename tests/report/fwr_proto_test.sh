#!/bin/sh
# fwr_proto_test.sh DOCS EXAMPLE FRAMEWALK: protobuf's own tools read what our writer writes, by
# docs/framewalk-report.proto, and our reader what they write. 77 where they are not.
set -eu
docs=$1 example=$2 framewalk=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v protoc >/dev/null || { echo "skip: no protoc (protobuf-compiler)"; exit 77; }
python=
for candidate in python3 /usr/bin/python3; do # one may be of another installation, without the module
    if "$candidate" -c 'import google.protobuf' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || { echo "skip: no google.protobuf (python3-protobuf)"; exit 77; }

protoc --proto_path="$docs" --python_out="$work" framewalk-report.proto
"$example" "$work/example.fwr"
PYTHONPATH=$work "$python" "$here/fwr_proto_test.py" "$docs" "$work" "$framewalk"
