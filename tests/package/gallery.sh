#!/bin/sh
# gallery.sh - the examples that make pictures: each finds its own results right, makes a picture of several colours,
# and has that picture on docs/gallery.md.
#
#     gallery.sh <root of the sources> <folder of the built examples>
set -eu
root=$1 examples=$2
names=$(grep -l OPTION_PICTURE "$root"/examples/*/main.c | sed 's|/main.c$||; s|.*/||')
[ -n "$names" ] || { echo "gallery.sh: no example makes a picture"; exit 1; }
for name in $names; do
    "$examples/$name" --size 48 --picture picture.ppm
    [ "$(head -c 2 picture.ppm)" = P6 ] || { echo "gallery.sh: $name made no picture"; exit 1; }
    colours=$(tail -c +16 picture.ppm | od -An -v -tx1 -w3 | sort -u | wc -l)
    [ "$colours" -ge 8 ] || { echo "gallery.sh: the picture of $name has $colours colours"; exit 1; }
    [ -s "$root/docs/gallery/$name.png" ] && grep -q "](gallery/$name.png)" "$root/docs/gallery.md" || {
        echo "gallery.sh: docs/gallery.md does not show $name"
        exit 1
    }
done
